// The register block alone.
rtl/boot/fb_boot_csr_pkg.sv
rtl/boot/fb_boot_csr.sv
