-f rtl/top/onchip.f
-f rtl/axis/host.f
rtl/top/fb_top_host.sv
rtl/top/fb_top_dram.sv
-f rtl/net/net.f
