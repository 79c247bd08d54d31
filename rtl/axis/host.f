// The host port.
rtl/axis/fb_axis_host_csr_pkg.sv
rtl/axis/fb_axis_host_csr.sv
rtl/axis/fb_axis_host.sv
rtl/axis/fb_axis_host_staged.sv
