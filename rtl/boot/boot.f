-f rtl/axi/axi.f
rtl/boot/fb_boot_axil.sv
rtl/boot/fb_boot_access.sv
rtl/boot/fb_boot_admin.sv
rtl/boot/fb_boot_uart.sv
rtl/boot/fb_boot_csr_pkg.sv
rtl/boot/fb_boot_csr.sv
rtl/boot/fb_boot_regs.sv
rtl/boot/fb_boot_rom_pkg.sv
rtl/boot/fb_boot_rom.sv
rtl/boot/fb_boot.sv
