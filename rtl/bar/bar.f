rtl/bar/fb_bar_pkg.sv
rtl/bar/fb_bar_memory_if.sv
rtl/bar/fb_bar_target.sv
rtl/bar/fb_bar_submission.sv
rtl/bar/fb_bar_completion.sv
rtl/bar/fb_bar_lists.sv
rtl/bar/fb_bar_registers.sv
rtl/bar/fb_bar.sv
