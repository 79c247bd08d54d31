rtl/axi/fb_axi_join.sv
