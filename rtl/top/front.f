-f rtl/net/net.f
-f rtl/pe/elements.f
-f rtl/store/store.f
rtl/top/fb_top_front.sv
