// The raw recorder.
-f rtl/axis/axis.f
rtl/store/fb_store_raw_pkg.sv
rtl/store/fb_store_raw_csr_pkg.sv
rtl/store/fb_store_raw_csr.sv
rtl/store/fb_store_raw_resync.sv
rtl/store/fb_store_raw_gate.sv
rtl/store/fb_store_raw_write.sv
rtl/store/fb_store_raw_read.sv
rtl/store/fb_store_raw.sv
