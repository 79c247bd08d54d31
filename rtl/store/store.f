-f rtl/axis/axis.f
rtl/store/fb_store_rom_pkg.sv
rtl/store/fb_store_pkg.sv
rtl/store/fb_store_crc32c.sv
rtl/store/fb_store_bin2ascii.sv
rtl/store/fb_store_header.sv
rtl/store/fb_store_collect.sv
rtl/store/fb_store_write.sv
rtl/store/fb_store_table.sv
rtl/store/fb_store_turns.sv
rtl/store/fb_store_pages.sv
rtl/store/fb_store_index.sv
rtl/store/fb_store_fetch.sv
rtl/store/fb_store_replay.sv
rtl/store/fb_store_csr_pkg.sv
rtl/store/fb_store_csr.sv
rtl/store/fb_store_recorder.sv
