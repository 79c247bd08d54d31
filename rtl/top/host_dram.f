-f rtl/top/dram.f
-f rtl/axis/host.f
rtl/top/fb_top_host_dram.sv
