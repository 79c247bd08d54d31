-f rtl/top/hostdram.f
-f rtl/axis/host.f
rtl/top/fb_top_host_hostdram.sv
