-f rtl/top/hostdram.f
-f rtl/top/front.f
rtl/top/fb_top_net_hostdram.sv
