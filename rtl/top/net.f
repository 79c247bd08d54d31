-f rtl/top/onchip.f
-f rtl/top/front.f
rtl/top/fb_top_net.sv
