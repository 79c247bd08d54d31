-f rtl/top/dram.f
-f rtl/top/front.f
rtl/top/fb_top_net_dram.sv
