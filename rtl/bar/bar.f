rtl/bar/fb_bar_pkg.sv
rtl/bar/fb_bar_memory_if.sv
rtl/bar/fb_bar_target.sv
rtl/bar/fb_bar_sq.sv
rtl/bar/fb_bar_cq.sv
rtl/bar/fb_bar_prp.sv
rtl/bar/fb_bar_registers.sv
rtl/bar/fb_bar.sv
