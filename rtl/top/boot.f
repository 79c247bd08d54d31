-f rtl/boot/boot.f
rtl/top/fb_top_boot.sv
