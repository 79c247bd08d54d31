-f rtl/common/common.f
-f rtl/axis/axis.f
rtl/axi/fb_axil_if.sv
rtl/pe/fb_pe_pkg.sv
rtl/pe/fb_pe_check.sv
rtl/pe/fb_pe_check_result.sv
rtl/pe/fb_pe_entry.sv
rtl/pe/fb_pe_back_entry.sv
rtl/pe/fb_pe_narrow.sv
rtl/pe/fb_pe_widen.sv
rtl/pe/fb_pe_cdc.sv
rtl/pe/fb_pe_registers_cdc.sv
rtl/pe/fb_pe_tap.sv
rtl/pe/fb_pe_windows.sv
rtl/pe/fb_pe_settings.sv
rtl/pe/fb_pe_pass.sv
rtl/pe/fb_pe_add.sv
rtl/pe/fb_pe_mean.sv
rtl/pe/fb_pe_aes_pkg.sv
rtl/pe/fb_pe_aes_keys.sv
rtl/pe/fb_pe_aes_lane.sv
rtl/pe/fb_pe_aes_csr.sv
rtl/pe/fb_pe_aes_ctr.sv
