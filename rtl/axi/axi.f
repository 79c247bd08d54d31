rtl/axi/fb_axi_if.sv
rtl/axi/fb_axil_if.sv
rtl/axi/fb_axi_join.sv
