-f rtl/axis/axis.f
rtl/axi/fb_axi_if.sv
rtl/axi/fb_axi_idle.sv
rtl/axi/fb_axil_if.sv
rtl/axi/fb_axi_burst_addr.sv
rtl/axi/fb_axi_write_master.sv
rtl/axi/fb_axi_read_master.sv
rtl/axi/fb_axi_mux.sv
rtl/axi/fb_axi_slice.sv
rtl/axi/fb_axi_width.sv
