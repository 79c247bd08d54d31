// The raw recorder with the streamer that it uses.
-f rtl/top/onchip.f
-f rtl/store/raw.f
