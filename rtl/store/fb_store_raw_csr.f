// The register block alone.
rtl/store/fb_store_raw_csr_pkg.sv
rtl/store/fb_store_raw_csr.sv
