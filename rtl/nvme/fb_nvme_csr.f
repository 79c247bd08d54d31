// The register block alone.
rtl/nvme/fb_nvme_csr_pkg.sv
rtl/nvme/fb_nvme_csr.sv
