-f rtl/top/onchip.f
-f rtl/store/raw.f
-f rtl/buffer/buffer.f
-f rtl/boot/boot.f
rtl/top/fb_top_recorder.sv
