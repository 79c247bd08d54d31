// The register block alone.
rtl/net/fb_net_csr_pkg.sv
rtl/net/fb_net_csr.sv
