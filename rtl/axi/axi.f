rtl/axi/fb_axi_if.sv
rtl/axi/fb_axil_if.sv
rtl/axi/fb_axi_join.sv
rtl/axi/fb_axi_slice.sv
rtl/axi/fb_axi_width.sv
