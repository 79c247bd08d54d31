// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Generated from rtl/boot/boot.seq by scripts/generate: do not edit.
`default_nettype none

package fb_boot_rom_pkg;

  localparam logic [31:0] PROGRAM[1024] = '{
      32'h00400001,  // li r1, 1
      32'h3c428058,  // st64 r1, port[r0 + 0x58]
      32'h3c028068,  // st64 r0, port[r0 + 0x68]
      32'h3c010028,  // st64 r0, ctl[r0 + 0x28]
      32'h00400001,  // li r1, 1
      32'h3c428008,  // st64 r1, port[r0 + 0x8]
      32'h34828070,  // ld64 r2, port[r0 + 0x70]
      32'h72000002,  // wait r2
      32'h3c028008,  // st64 r0, port[r0 + 0x8]
      32'h6c1e8480,  // timer 2000000
      32'h34428000,  // ld64 r1, port[r0]
      32'h5040000f,  // bset r1, 0, _15
      32'h5c0003c4,  // btime no_link
      32'h7000000a,  // wait 10
      32'h6000000a,  // jmp _10
      32'h72000002,  // wait r2
      32'h03000600,  // li r12, 1536
      32'h17308008,  // sub r12, r12, 8
      32'h3c320000,  // st64 r0, ram[r12]
      32'h47000011,  // bne r12, r0, _17
      32'h00400002,  // li r1, 2
      32'h3c428058,  // st64 r1, port[r0 + 0x58]
      32'h3c0206a0,  // st64 r0, ram[r0 + 0x6a0]
      32'h3c0206b0,  // st64 r0, ram[r0 + 0x6b0]
      32'h02800000,  // li r10, 0
      32'h02400000,  // li r9, 0
      32'h02000000,  // li r8, 0
      32'h03800005,  // li r14, 5
      32'h03000000,  // li r12, 0
      32'h36c28028,  // ld64 r11, port[r0 + 0x28]
      32'h640000f7,  // call identity
      32'h404003c9,  // beq r1, r0, no_root
      32'h64000116,  // call is_bridge
      32'h404003c9,  // beq r1, r0, no_root
      32'h64000120,  // call express
      32'h404003c9,  // beq r1, r0, no_root
      32'h3084001c,  // ld32 r2, cfg[r1 + 0x1c]
      32'h54804028,  // bclr r2, 16, _40
      32'h00800010,  // li r2, 16
      32'h3884001c,  // st32 r2, cfg[r1 + 0x1c]
      32'h6400014b,  // call link
      32'h64000177,  // call show
      32'h34828038,  // ld64 r2, port[r0 + 0x38]
      32'h4080002d,  // beq r2, r0, _45
      32'h38800010,  // st32 r2, cfg[r0 + 0x10]
      32'h64000120,  // call express
      32'h6400005a,  // call enter
      32'h640000f7,  // call identity
      32'h40400040,  // beq r1, r0, none
      32'h64000177,  // call show
      32'h64000116,  // call is_bridge
      32'h40400038,  // beq r1, r0, _56
      32'h64000120,  // call express
      32'h4040003e,  // beq r1, r0, _62
      32'h6400005a,  // call enter
      32'h6000002f,  // jmp scan
      32'h30600008,  // ld32 r1, cfg[r8 + 0x8]
      32'h2c440008,  // shr r1, r1, 8
      32'h00810802,  // li r2, 67586
      32'h44480043,  // bne r1, r2, next
      32'h640000a3,  // call found
      32'h60000043,  // jmp next
      32'h640003b6,  // call single
      32'h60000043,  // jmp next
      32'h00407000,  // li r1, 28672
      32'h18a00001,  // and r2, r8, r1
      32'h4080004d,  // beq r2, r0, device
      32'h00407000,  // li r1, 28672
      32'h18a00001,  // and r2, r8, r1
      32'h4084004d,  // beq r2, r1, device
      32'h4480004a,  // bne r2, r0, _74
      32'h30e0000c,  // ld32 r3, cfg[r8 + 0xc]
      32'h5800004d,  // berr device
      32'h54c05c4d,  // bclr r3, 23, device
      32'h00401000,  // li r1, 4096
      32'h12200001,  // add r8, r8, r1
      32'h6000002f,  // jmp scan
      32'h00407000,  // li r1, 28672
      32'h26200001,  // andn r8, r8, r1
      32'h29240004,  // shl r4, r9, 4
      32'h34920600,  // ld64 r2, ram[r4 + 0x600]
      32'h2ce0000f,  // shr r3, r8, 15
      32'h18cc801f,  // and r3, r3, 31
      32'h4cc80057,  // bgeu r3, r2, leave
      32'h00408000,  // li r1, 32768
      32'h12200001,  // add r8, r8, r1
      32'h6000002f,  // jmp scan
      32'h64000085,  // call close
      32'h46400043,  // bne r9, r0, next
      32'h6000018a,  // jmp drives
      32'h64000138,  // call supports
      32'h14a48008,  // sub r2, r9, 8
      32'h408003cf,  // beq r2, r0, too_deep
      32'h14a88028,  // sub r2, r10, 40
      32'h408003d4,  // beq r2, r0, too_many
      32'h28a80003,  // shl r2, r10, 3
      32'h3e0a06c0,  // st64 r8, ram[r2 + 0x6c0]
      32'h12a88001,  // add r10, r10, 1
      32'h12648001,  // add r9, r9, 1
      32'h008fffff,  // li r2, 1048575
      32'h12ec0002,  // add r11, r11, r2
      32'h26ec0002,  // andn r11, r11, r2
      32'h29240004,  // shl r4, r9, 4
      32'h3ed20608,  // st64 r11, ram[r4 + 0x608]
      32'h2ca00014,  // shr r2, r8, 20
      32'h28e80008,  // shl r3, r10, 8
      32'h1c880003,  // or r2, r2, r3
      32'h00c00000,  // li r3, 0
      32'h04c100ff,  // ins r3, 1, 0xff
      32'h1c880003,  // or r2, r2, r3
      32'h38a00018,  // st32 r2, cfg[r8 + 0x18]
      32'h00c00000,  // li r3, 0
      32'h30840000,  // ld32 r2, cfg[r1]
      32'h2c880014,  // shr r2, r2, 20
      32'h1888800f,  // and r2, r2, 15
      32'h14888005,  // sub r2, r2, 5
      32'h44800076,  // bne r2, r0, _118
      32'h00c0001f,  // li r3, 31
      32'h3cd20600,  // st64 r3, ram[r4 + 0x600]
      32'h3084000c,  // ld32 r2, cfg[r1 + 0xc]
      32'h54805083,  // bclr r2, 20, _131
      32'h30840010,  // ld32 r2, cfg[r1 + 0x10]
      32'h50807483,  // bset r2, 29, _131
      32'h34c28070,  // ld64 r3, port[r0 + 0x70]
      32'h6e000003,  // timer r3
      32'h30840010,  // ld32 r2, cfg[r1 + 0x10]
      32'h50807482,  // bset r2, 29, _130
      32'h5c000083,  // btime _131
      32'h7000000a,  // wait 10
      32'h6000007d,  // jmp _125
      32'h72000003,  // wait r3
      32'h2a280014,  // shl r8, r10, 20
      32'h68000000,  // ret
      32'h2ce00014,  // shr r3, r8, 20
      32'h284c0003,  // shl r1, r3, 3
      32'h360606b8,  // ld64 r8, ram[r1 + 0x6b8]
      32'h2ca00014,  // shr r2, r8, 20
      32'h284c0008,  // shl r1, r3, 8
      32'h1c880001,  // or r2, r2, r1
      32'h28680010,  // shl r1, r10, 16
      32'h1c880001,  // or r2, r2, r1
      32'h38a00018,  // st32 r2, cfg[r8 + 0x18]
      32'h004fffff,  // li r1, 1048575
      32'h12ec0001,  // add r11, r11, r1
      32'h26ec0001,  // andn r11, r11, r1
      32'h29240004,  // shl r4, r9, 4
      32'h34920608,  // ld64 r2, ram[r4 + 0x608]
      32'h0140fff0,  // li r5, 65520
      32'h00c0fff0,  // li r3, 65520
      32'h40ac009b,  // beq r2, r11, _155
      32'h2cc80010,  // shr r3, r2, 16
      32'h146c8001,  // sub r1, r11, 1
      32'h2c440014,  // shr r1, r1, 20
      32'h28440014,  // shl r1, r1, 20
      32'h1ccc0001,  // or r3, r3, r1
      32'h38e00020,  // st32 r3, cfg[r8 + 0x20]
      32'h39600024,  // st32 r5, cfg[r8 + 0x24]
      32'h38200028,  // st32 r0, cfg[r8 + 0x28]
      32'h3820002c,  // st32 r0, cfg[r8 + 0x2c]
      32'h00400006,  // li r1, 6
      32'h38600004,  // st32 r1, cfg[r8 + 0x4]
      32'h16648001,  // sub r9, r9, 1
      32'h68000000,  // ret
      32'h34428040,  // ld64 r1, port[r0 + 0x40]
      32'h00800000,  // li r2, 0
      32'h404000a9,  // beq r1, r0, _169
      32'h108880c0,  // add r2, r2, 192
      32'h14448001,  // sub r1, r1, 1
      32'h600000a5,  // jmp _165
      32'h4f0800e8,  // bgeu r12, r2, _232
      32'h3e320000,  // st64 r8, ram[r12]
      32'h0040ffff,  // li r1, 65535
      32'h0441ffff,  // ins r1, 1, 0xffff
      32'h38600010,  // st32 r1, cfg[r8 + 0x10]
      32'h30a00010,  // ld32 r2, cfg[r8 + 0x10]
      32'h580000ef,  // berr _239
      32'h508000ef,  // bset r2, 0, _239
      32'h508004ef,  // bset r2, 1, _239
      32'h01400020,  // li r5, 32
      32'h548008b8,  // bclr r2, 2, _184
      32'h01400040,  // li r5, 64
      32'h38600014,  // st32 r1, cfg[r8 + 0x14]
      32'h31200014,  // ld32 r4, cfg[r8 + 0x14]
      32'h450400ef,  // bne r4, r1, _239
      32'h2508800f,  // andn r4, r2, 15
      32'h14c40004,  // sub r3, r1, r4
      32'h01003fff,  // li r4, 16383
      32'h48d000ef,  // bltu r3, r4, _239
      32'h0100ffff,  // li r4, 65535
      32'h050100ff,  // ins r4, 1, 0xff
      32'h490c00ef,  // bltu r4, r3, _239
      32'h110c8001,  // add r4, r3, 1
      32'h19900003,  // and r6, r4, r3
      32'h458000ef,  // bne r6, r0, _239
      32'h3d320058,  // st64 r4, ram[r12 + 0x58]
      32'h11ac0003,  // add r6, r11, r3
      32'h25980003,  // andn r6, r6, r3
      32'h10980004,  // add r2, r6, r4
      32'h35c28030,  // ld64 r7, port[r0 + 0x30]
      32'h49c800e9,  // bltu r7, r2, _233
      32'h39a00010,  // st32 r6, cfg[r8 + 0x10]
      32'h15d48020,  // sub r7, r5, 32
      32'h41c000cc,  // beq r7, r0, _204
      32'h38200014,  // st32 r0, cfg[r8 + 0x14]
      32'h3db20008,  // st64 r6, ram[r12 + 0x8]
      32'h64000165,  // call indent
      32'h83202d20,  // say " - "
      32'h83524142,  // say "BAR"
      32'h82002030,  // say "0 "
      32'h89400000,  // dec r5
      32'h83696220,  // say " bi"
      32'h832d2074,  // say "t -"
      32'h83697320,  // say " si"
      32'h833a657a,  // say "ze:"
      32'h83783020,  // say " 0x"
      32'h85000007,  // hex r4, 8
      32'h83202d20,  // say " - "
      32'h83646461,  // say "add"
      32'h83203a72,  // say "r: "
      32'h82007830,  // say "0x"
      32'h85800007,  // hex r6, 8
      32'h8100000a,  // say "\n"
      32'h12c88000,  // add r11, r2, 0
      32'h64000120,  // call express
      32'h404000e5,  // beq r1, r0, _229
      32'h64000138,  // call supports
      32'h00400002,  // li r1, 2
      32'h38600004,  // st32 r1, cfg[r8 + 0x4]
      32'h600000e7,  // jmp _231
      32'h3ff20018,  // st64 r15, ram[r12 + 0x18]
      32'h640003b6,  // call single
      32'h133080c0,  // add r12, r12, 192
      32'h68000000,  // ret
      32'h3d320020,  // st64 r4, ram[r12 + 0x20]
      32'h83206f6e,  // say "no "
      32'h836f6f72,  // say "roo"
      32'h8100006d,  // say "m"
      32'h03c00007,  // li r15, 7
      32'h600000f4,  // jmp _244
      32'h3cb20020,  // st64 r2, ram[r12 + 0x20]
      32'h83646162,  // say "bad"
      32'h83414220,  // say " BA"
      32'h83302052,  // say "R 0"
      32'h03c00008,  // li r15, 8
      32'h640003b4,  // call raise
      32'h133080c0,  // add r12, r12, 192
      32'h68000000,  // ret
      32'h6c0f4240,  // timer 1000000
      32'h30600000,  // ld32 r1, cfg[r8]
      32'h58000113,  // berr gone
      32'h10848001,  // add r2, r1, 1
      32'h50808102,  // bset r2, 32, _258
      32'h00800001,  // li r2, 1
      32'h0481ffff,  // ins r2, 1, 0xffff
      32'h44480103,  // bne r1, r2, _259
      32'h5c000104,  // btime late
      32'h7000000a,  // wait 10
      32'h600000f8,  // jmp _248
      32'h00400000,  // li r1, 0
      32'h68000000,  // ret
      32'h83746572,  // say "ret"
      32'h83207972,  // say "ry "
      32'h83746977,  // say "wit"
      32'h83756f68,  // say "hou"
      32'h83652074,  // say "t e"
      32'h8200646e,  // say "nd"
      32'h03c00005,  // li r15, 5
      32'h640003ba,  // call complain
      32'h640003b6,  // call single
      32'h344206b0,  // ld64 r1, ram[r0 + 0x6b0]
      32'h10448001,  // add r1, r1, 1
      32'h3c4206b0,  // st64 r1, ram[r0 + 0x6b0]
      32'h14448008,  // sub r1, r1, 8
      32'h44400102,  // bne r1, r0, _258
      32'hf8000005,  // fail 5
      32'h64000235,  // call lost
      32'h00400000,  // li r1, 0
      32'h68000000,  // ret
      32'h3060000c,  // ld32 r1, cfg[r8 + 0xc]
      32'h2c440010,  // shr r1, r1, 16
      32'h1844807f,  // and r1, r1, 127
      32'h4040011c,  // beq r1, r0, _284
      32'h14448001,  // sub r1, r1, 1
      32'h4040011e,  // beq r1, r0, _286
      32'h00400000,  // li r1, 0
      32'h68000000,  // ret
      32'h00400001,  // li r1, 1
      32'h68000000,  // ret
      32'h30600034,  // ld32 r1, cfg[r8 + 0x34]
      32'h01c00030,  // li r7, 48
      32'h184480fc,  // and r1, r1, 252
      32'h4040012e,  // beq r1, r0, _302
      32'h41c0012e,  // beq r7, r0, _302
      32'h15dc8001,  // sub r7, r7, 1
      32'h10a00001,  // add r2, r8, r1
      32'h30480000,  // ld32 r1, cfg[r2]
      32'h198480ff,  // and r6, r1, 255
      32'h2c440008,  // shr r1, r1, 8
      32'h15988010,  // sub r6, r6, 16
      32'h45800122,  // bne r6, r0, _290
      32'h10488000,  // add r1, r2, 0
      32'h68000000,  // ret
      32'h64000235,  // call lost
      32'h83706163,  // say "cap"
      32'h83696261,  // say "abi"
      32'h8374696c,  // say "lit"
      32'h836c2079,  // say "y l"
      32'h83747369,  // say "ist"
      32'h03c00006,  // li r15, 6
      32'h640003ba,  // call complain
      32'h00400000,  // li r1, 0
      32'h68000000,  // ret
      32'h30840004,  // ld32 r2, cfg[r1 + 0x4]
      32'h18888007,  // and r2, r2, 7
      32'h4cb8013c,  // bgeu r2, r14, _316
      32'h13888000,  // add r14, r2, 0
      32'h68000000,  // ret
      32'h64000120,  // call express
      32'h4040014a,  // beq r1, r0, _330
      32'h30840008,  // ld32 r2, cfg[r1 + 0x8]
      32'h5800014a,  // berr _330
      32'h00c070e0,  // li r3, 28896
      32'h24880003,  // andn r2, r2, r3
      32'h28f80005,  // shl r3, r14, 5
      32'h1c880003,  // or r2, r2, r3
      32'h00c02000,  // li r3, 8192
      32'h1c880003,  // or r2, r2, r3
      32'h00c0ffff,  // li r3, 65535
      32'h18880003,  // and r2, r2, r3
      32'h38840008,  // st32 r2, cfg[r1 + 0x8]
      32'h68000000,  // ret
      32'h30440010,  // ld32 r1, cfg[r1 + 0x10]
      32'h2c840010,  // shr r2, r1, 16
      32'h1888800f,  // and r2, r2, 15
      32'h2cc40014,  // shr r3, r1, 20
      32'h18cc803f,  // and r3, r3, 63
      32'h83464e49,  // say "INF"
      32'h83203a4f,  // say "O: "
      32'h83494350,  // say "PCI"
      32'h83522065,  // say "e R"
      32'h83746f6f,  // say "oot"
      32'h836f5020,  // say " Po"
      32'h83207472,  // say "rt "
      32'h836e696c,  // say "lin"
      32'h8369206b,  // say "k i"
      32'h83652073,  // say "s e"
      32'h83617473,  // say "sta"
      32'h83696c62,  // say "bli"
      32'h83656873,  // say "she"
      32'h83612064,  // say "d a"
      32'h83472073,  // say "s G"
      32'h82006e65,  // say "en"
      32'h88800000,  // dec r2
      32'h82007820,  // say " x"
      32'h88c00000,  // dec r3
      32'h8100000a,  // say "\n"
      32'h68000000,  // ret
      32'h82002d2d,  // say "--"
      32'h10648000,  // add r1, r9, 0
      32'h4040016c,  // beq r1, r0, place
      32'h832d2d2d,  // say "---"
      32'h8100002d,  // say "-"
      32'h14448001,  // sub r1, r1, 1
      32'h60000167,  // jmp _359
      32'h2c600014,  // shr r1, r8, 20
      32'h84400001,  // hex r1, 2
      32'h8100003a,  // say ":"
      32'h2c60000f,  // shr r1, r8, 15
      32'h1844801f,  // and r1, r1, 31
      32'h84400001,  // hex r1, 2
      32'h8100002e,  // say "."
      32'h2c60000c,  // shr r1, r8, 12
      32'h18448007,  // and r1, r1, 7
      32'h84400000,  // hex r1, 1
      32'h68000000,  // ret
      32'h64000165,  // call indent
      32'h83202d20,  // say " - "
      32'h83766544,  // say "Dev"
      32'h83656369,  // say "ice"
      32'h8365562f,  // say "/Ve"
      32'h836f646e,  // say "ndo"
      32'h83303a72,  // say "r:0"
      32'h81000078,  // say "x"
      32'h30600000,  // ld32 r1, cfg[r8]
      32'h84400007,  // hex r1, 8
      32'h83202d20,  // say " - "
      32'h83616c43,  // say "Cla"
      32'h83207373,  // say "ss "
      32'h82007830,  // say "0x"
      32'h30600008,  // ld32 r1, cfg[r8 + 0x8]
      32'h2c440008,  // shr r1, r1, 8
      32'h84400005,  // hex r1, 6
      32'h8100000a,  // say "\n"
      32'h68000000,  // ret
      32'h00400003,  // li r1, 3
      32'h3c428058,  // st64 r1, port[r0 + 0x58]
      32'h3f020690,  // st64 r12, ram[r0 + 0x690]
      32'h00800000,  // li r2, 0
      32'h430803db,  // beq r12, r2, no_drive
      32'h42800195,  // beq r10, r0, _405
      32'h16a88001,  // sub r10, r10, 1
      32'h28680003,  // shl r1, r10, 3
      32'h360606c0,  // ld64 r8, ram[r1 + 0x6c0]
      32'h6400013d,  // call pay
      32'h6000018f,  // jmp _399
      32'h03000000,  // li r12, 0
      32'h00400001,  // li r1, 1
      32'h3c420698,  // st64 r1, ram[r0 + 0x698]
      32'h36320000,  // ld64 r8, ram[r12]
      32'h37f20018,  // ld64 r15, ram[r12 + 0x18]
      32'h47c001ae,  // bne r15, r0, _430
      32'h6400013d,  // call pay
      32'h47c001a6,  // bne r15, r0, _422
      32'h37720008,  // ld64 r13, ram[r12 + 0x8]
      32'h00400006,  // li r1, 6
      32'h38600004,  // st32 r1, cfg[r8 + 0x4]
      32'h64000239,  // call bring_up
      32'h43c001a9,  // beq r15, r0, _425
      32'h00400002,  // li r1, 2
      32'h38600004,  // st32 r1, cfg[r8 + 0x4]
      32'h640003b4,  // call raise
      32'h600001ae,  // jmp _430
      32'h3ff20018,  // st64 r15, ram[r12 + 0x18]
      32'h640003b6,  // call single
      32'h600001ae,  // jmp _430
      32'h34420698,  // ld64 r1, ram[r0 + 0x698]
      32'h348206a0,  // ld64 r2, ram[r0 + 0x6a0]
      32'h1c880001,  // or r2, r2, r1
      32'h3c8206a0,  // st64 r2, ram[r0 + 0x6a0]
      32'h3c828068,  // st64 r2, port[r0 + 0x68]
      32'h34420698,  // ld64 r1, ram[r0 + 0x698]
      32'h28440001,  // shl r1, r1, 1
      32'h3c420698,  // st64 r1, ram[r0 + 0x698]
      32'h133080c0,  // add r12, r12, 192
      32'h34420690,  // ld64 r1, ram[r0 + 0x690]
      32'h4b040198,  // bltu r12, r1, each
      32'h344206a0,  // ld64 r1, ram[r0 + 0x6a0]
      32'h404003db,  // beq r1, r0, no_drive
      32'h01c00000,  // li r7, 0
      32'h03400000,  // li r13, 0
      32'h36428048,  // ld64 r9, port[r0 + 0x48]
      32'h02900000,  // li r10, 1048576
      32'h02ffffff,  // li r11, -1
      32'h03000000,  // li r12, 0
      32'h11848000,  // add r6, r1, 0
      32'h558001df,  // bclr r6, 0, _479
      32'h36320000,  // ld64 r8, ram[r12]
      32'h34720040,  // ld64 r1, ram[r12 + 0x40]
      32'h474001c2,  // bne r13, r0, _450
      32'h13848000,  // add r14, r1, 0
      32'h447803eb,  // bne r1, r14, differ
      32'h13748001,  // add r13, r13, 1
      32'h34720050,  // ld64 r1, ram[r12 + 0x50]
      32'h4c6401c7,  // bgeu r1, r9, _455
      32'h12448000,  // add r9, r1, 0
      32'h34720048,  // ld64 r1, ram[r12 + 0x48]
      32'h404001cb,  // beq r1, r0, _459
      32'h4c6801cb,  // bgeu r1, r10, _459
      32'h12848000,  // add r10, r1, 0
      32'h34720038,  // ld64 r1, ram[r12 + 0x38]
      32'h4c6c01ce,  // bgeu r1, r11, _462
      32'h12c48000,  // add r11, r1, 0
      32'h64000282,  // call stride
      32'h29080001,  // shl r4, r2, 1
      32'h34720008,  // ld64 r1, ram[r12 + 0x8]
      32'h10449000,  // add r1, r1, 4096
      32'h10440004,  // add r1, r1, r4
      32'h11040002,  // add r4, r1, r2
      32'h109c8000,  // add r2, r7, 0
      32'h64000213,  // call put
      32'h10508000,  // add r1, r4, 0
      32'h64000213,  // call put
      32'h45c001dc,  // bne r7, r0, _476
      32'h34428078,  // ld64 r1, port[r0 + 0x78]
      32'h64000213,  // call put
      32'h01c00c00,  // li r7, 3072
      32'h34720030,  // ld64 r1, ram[r12 + 0x30]
      32'h64000213,  // call put
      32'h11dc8040,  // add r7, r7, 64
      32'h133080c0,  // add r12, r12, 192
      32'h2d980001,  // shr r6, r6, 1
      32'h458001bd,  // bne r6, r0, _445
      32'h14788009,  // sub r1, r14, 9
      32'h404001e5,  // beq r1, r0, _485
      32'h2aec0003,  // shl r11, r11, 3
      32'h008000ff,  // li r2, 255
      32'h26ec0002,  // andn r11, r11, r2
      32'h15348001,  // sub r4, r13, 1
      32'h01400000,  // li r5, 0
      32'h1154000b,  // add r5, r5, r11
      32'h17748001,  // sub r13, r13, 1
      32'h474001e9,  // bne r13, r0, _489
      32'h00800210,  // li r2, 528
      32'h10788000,  // add r1, r14, 0
      32'h64000213,  // call put
      32'h2c68000c,  // shr r1, r10, 12
      32'h64000213,  // call put
      32'h10548000,  // add r1, r5, 0
      32'h64000213,  // call put
      32'h34428098,  // ld64 r1, port[r0 + 0x98]
      32'h64000213,  // call put
      32'h10888008,  // add r2, r2, 8
      32'h10648000,  // add r1, r9, 0
      32'h64000213,  // call put
      32'h00800268,  // li r2, 616
      32'h34428080,  // ld64 r1, port[r0 + 0x80]
      32'h64000213,  // call put
      32'h34428040,  // ld64 r1, port[r0 + 0x40]
      32'h14448001,  // sub r1, r1, 1
      32'h40400203,  // beq r1, r0, _515
      32'h00800e00,  // li r2, 3584
      32'h10509f00,  // add r1, r4, 7936
      32'h64000213,  // call put
      32'h00400000,  // li r1, 0
      32'h64000213,  // call put
      32'h00400001,  // li r1, 1
      32'h3c410028,  // st64 r1, ctl[r0 + 0x28]
      32'h6c002710,  // timer 10000
      32'h34410248,  // ld64 r1, ctl[r0 + 0x248]
      32'h5040020b,  // bset r1, 0, _523
      32'h5c0003e6,  // btime halted
      32'h7000000a,  // wait 10
      32'h60000206,  // jmp _518
      32'h29540009,  // shl r5, r5, 9
      32'h3d428088,  // st64 r5, port[r0 + 0x88]
      32'h3f828090,  // st64 r14, port[r0 + 0x90]
      32'h00400004,  // li r1, 4
      32'h3c428058,  // st64 r1, port[r0 + 0x58]
      32'h34428050,  // ld64 r1, port[r0 + 0x50]
      32'h50400618,  // bset r1, 1, watch
      32'hfc000000,  // stop
      32'h3c490000,  // st64 r1, ctl[r2]
      32'h34c90000,  // ld64 r3, ctl[r2]
      32'h10888008,  // add r2, r2, 8
      32'h444c03e6,  // bne r1, r3, halted
      32'h68000000,  // ret
      32'h6c0003e8,  // timer 1000
      32'h5c00021c,  // btime _540
      32'h700003e8,  // wait 1000
      32'h60000219,  // jmp _537
      32'h64000235,  // call lost
      32'h34410248,  // ld64 r1, ctl[r0 + 0x248]
      32'h504007e6,  // bset r1, 1, halted
      32'h03000000,  // li r12, 0
      32'h358206a0,  // ld64 r6, ram[r0 + 0x6a0]
      32'h41800218,  // beq r6, r0, watch
      32'h5580022a,  // bclr r6, 0, _554
      32'h36320000,  // ld64 r8, ram[r12]
      32'h37720008,  // ld64 r13, ram[r12 + 0x8]
      32'h3074801c,  // ld32 r1, mmio[r13 + 0x1c]
      32'h5800022d,  // berr _557
      32'h18848003,  // and r2, r1, 3
      32'h14888001,  // sub r2, r2, 1
      32'h4480022d,  // bne r2, r0, _557
      32'h133080c0,  // add r12, r12, 192
      32'h2d980001,  // shr r6, r6, 1
      32'h60000221,  // jmp _545
      32'h3c720020,  // st64 r1, ram[r12 + 0x20]
      32'h64000235,  // call lost
      32'h83697264,  // say "dri"
      32'h83206576,  // say "ve "
      32'h83656964,  // say "die"
      32'h81000064,  // say "d"
      32'h03c00017,  // li r15, 23
      32'h600003f1,  // jmp noted
      32'h34428000,  // ld64 r1, port[r0]
      32'h504007f3,  // bset r1, 1, hung
      32'h544003e1,  // bclr r1, 0, link_lost
      32'h68000000,  // ret
      32'h34748000,  // ld64 r1, mmio[r13]
      32'h58000276,  // berr mute
      32'h0080ffff,  // li r2, 65535
      32'h0481ffff,  // ins r2, 1, 0xffff
      32'h18c40002,  // and r3, r1, r2
      32'h40c80276,  // beq r3, r2, mute
      32'h3c720010,  // st64 r1, ram[r12 + 0x10]
      32'h5440967b,  // bclr r1, 37, cannot
      32'h2c840030,  // shr r2, r1, 48
      32'h1888800f,  // and r2, r2, 15
      32'h4480027b,  // bne r2, r0, cannot
      32'h0080ffff,  // li r2, 65535
      32'h18c40002,  // and r3, r1, r2
      32'h40c0027b,  // beq r3, r0, cannot
      32'h10cc8001,  // add r3, r3, 1
      32'h35028048,  // ld64 r4, port[r0 + 0x48]
      32'h4cd0024b,  // bgeu r3, r4, _587
      32'h110c8000,  // add r4, r3, 0
      32'h3d320050,  // st64 r4, ram[r12 + 0x50]
      32'h64000282,  // call stride
      32'h28880002,  // shl r2, r2, 2
      32'h00c01000,  // li r3, 4096
      32'h10880003,  // add r2, r2, r3
      32'h34f20058,  // ld64 r3, ram[r12 + 0x58]
      32'h48c8027b,  // bltu r3, r2, cannot
      32'h2c840018,  // shr r2, r1, 24
      32'h188880ff,  // and r2, r2, 255
      32'h44800256,  // bne r2, r0, _598
      32'h00800001,  // li r2, 1
      32'h00c7a120,  // li r3, 500000
      32'h01000000,  // li r4, 0
      32'h11100003,  // add r4, r4, r3
      32'h14888001,  // sub r2, r2, 1
      32'h44800258,  // bne r2, r0, _600
      32'h3d320028,  // st64 r4, ram[r12 + 0x28]
      32'h38348014,  // st32 r0, mmio[r13 + 0x14]
      32'h01400000,  // li r5, 0
      32'h6400028b,  // call wait_ready
      32'h47c00275,  // bne r15, r0, _629
      32'h00800001,  // li r2, 1
      32'h28c80010,  // shl r3, r2, 16
      32'h1c880003,  // or r2, r2, r3
      32'h38b48024,  // st32 r2, mmio[r13 + 0x24]
      32'h34828010,  // ld64 r2, port[r0 + 0x10]
      32'h10c88000,  // add r3, r2, 0
      32'h3cf48028,  // st64 r3, mmio[r13 + 0x28]
      32'h10c89000,  // add r3, r2, 4096
      32'h3cf48030,  // st64 r3, mmio[r13 + 0x30]
      32'h38018000,  // st32 r0, adm[r0]
      32'h00860001,  // li r2, 393217
      32'h04810046,  // ins r2, 1, 0x46
      32'h38b48014,  // st32 r2, mmio[r13 + 0x14]
      32'h01400001,  // li r5, 1
      32'h6400028b,  // call wait_ready
      32'h47c00275,  // bne r15, r0, _629
      32'h640002d2,  // call controller
      32'h47c00275,  // bne r15, r0, _629
      32'h64000340,  // call namespace
      32'h47c00275,  // bne r15, r0, _629
      32'h64000388,  // call queues
      32'h68000000,  // ret
      32'h83206f6e,  // say "no "
      32'h83736e61,  // say "ans"
      32'h83726577,  // say "wer"
      32'h03c0000a,  // li r15, 10
      32'h60000280,  // jmp keep_found
      32'h83706163,  // say "cap"
      32'h83696261,  // say "abi"
      32'h8374696c,  // say "lit"
      32'h83736569,  // say "ies"
      32'h03c0000b,  // li r15, 11
      32'h3c720020,  // st64 r1, ram[r12 + 0x20]
      32'h68000000,  // ret
      32'h34f20010,  // ld64 r3, ram[r12 + 0x10]
      32'h2ccc0020,  // shr r3, r3, 32
      32'h18cc800f,  // and r3, r3, 15
      32'h00800004,  // li r2, 4
      32'h40c0028a,  // beq r3, r0, _650
      32'h28880001,  // shl r2, r2, 1
      32'h14cc8001,  // sub r3, r3, 1
      32'h60000286,  // jmp _646
      32'h68000000,  // ret
      32'h34720028,  // ld64 r1, ram[r12 + 0x28]
      32'h6e000001,  // timer r1
      32'h3074801c,  // ld32 r1, mmio[r13 + 0x1c]
      32'h58000276,  // berr mute
      32'h10848001,  // add r2, r1, 1
      32'h50808276,  // bset r2, 32, mute
      32'h3c720020,  // st64 r1, ram[r12 + 0x20]
      32'h5040069a,  // bset r1, 1, _666
      32'h18448001,  // and r1, r1, 1
      32'h40540298,  // beq r1, r5, _664
      32'h5c00029e,  // btime _670
      32'h7000000a,  // wait 10
      32'h6000028d,  // jmp _653
      32'h03c00000,  // li r15, 0
      32'h68000000,  // ret
      32'h83746166,  // say "fat"
      32'h82006c61,  // say "al"
      32'h03c0000d,  // li r15, 13
      32'h68000000,  // ret
      32'h83746f6e,  // say "not"
      32'h83657220,  // say " re"
      32'h83796461,  // say "ady"
      32'h03c0000c,  // li r15, 12
      32'h68000000,  // ret
      32'h34c28010,  // ld64 r3, port[r0 + 0x10]
      32'h00402000,  // li r1, 8192
      32'h10cc0001,  // add r3, r3, r1
      32'h00400006,  // li r1, 6
      32'h01400000,  // li r5, 0
      32'h38418040,  // st32 r1, adm[r0 + 0x40]
      32'h38818044,  // st32 r2, adm[r0 + 0x44]
      32'h3cc18058,  // st64 r3, adm[r0 + 0x58]
      32'h39018068,  // st32 r4, adm[r0 + 0x68]
      32'h3941806c,  // st32 r5, adm[r0 + 0x6c]
      32'h38018008,  // st32 r0, adm[r0 + 0x8]
      32'h31818010,  // ld32 r6, adm[r0 + 0x10]
      32'h01c01000,  // li r7, 4096
      32'h11dc000d,  // add r7, r7, r13
      32'h399c8000,  // st32 r6, mmio[r7]
      32'h6c4c4b40,  // timer 5000000
      32'h30418020,  // ld32 r1, adm[r0 + 0x20]
      32'h50407eb8,  // bset r1, 31, _696
      32'h5c0002c3,  // btime _707
      32'h7000000a,  // wait 10
      32'h600002b3,  // jmp _691
      32'h64000282,  // call stride
      32'h11dc0002,  // add r7, r7, r2
      32'h31818018,  // ld32 r6, adm[r0 + 0x18]
      32'h399c8000,  // st32 r6, mmio[r7]
      32'h01807fff,  // li r6, 32767
      32'h18440006,  // and r1, r1, r6
      32'h018007ff,  // li r6, 2047
      32'h18840006,  // and r2, r1, r6
      32'h448002cb,  // bne r2, r0, _715
      32'h03c00000,  // li r15, 0
      32'h68000000,  // ret
      32'h3074801c,  // ld32 r1, mmio[r13 + 0x1c]
      32'h836d6f63,  // say "com"
      32'h836e616d,  // say "man"
      32'h836c2064,  // say "d l"
      32'h83657461,  // say "ate"
      32'h03c0000e,  // li r15, 14
      32'h60000280,  // jmp keep_found
      32'h00400000,  // li r1, 0
      32'h836d6f63,  // say "com"
      32'h836e616d,  // say "man"
      32'h83662064,  // say "d f"
      32'h836c6961,  // say "ail"
      32'h82006465,  // say "ed"
      32'h03c0000f,  // li r15, 15
      32'h60000280,  // jmp keep_found
      32'h00800000,  // li r2, 0
      32'h01000001,  // li r4, 1
      32'h640002a3,  // call identify
      32'h47c00317,  // bne r15, r0, _791
      32'h30419200,  // ld32 r1, adm[r0 + 0x1200]
      32'h580002ca,  // berr short
      32'h1884800f,  // and r2, r1, 15
      32'h14888006,  // sub r2, r2, 6
      32'h44800318,  // bne r2, r0, _792
      32'h2c840008,  // shr r2, r1, 8
      32'h1888800f,  // and r2, r2, 15
      32'h14888004,  // sub r2, r2, 4
      32'h44800318,  // bne r2, r0, _792
      32'h3041904c,  // ld32 r1, adm[r0 + 0x104c]
      32'h580002ca,  // berr short
      32'h2c440008,  // shr r1, r1, 8
      32'h184480ff,  // and r1, r1, 255
      32'h00800000,  // li r2, 0
      32'h404002eb,  // beq r1, r0, _747
      32'h14c48014,  // sub r3, r1, 20
      32'h54c0feeb,  // bclr r3, 63, _747
      32'h00801000,  // li r2, 4096
      32'h28880001,  // shl r2, r2, 1
      32'h14448001,  // sub r1, r1, 1
      32'h444002e8,  // bne r1, r0, _744
      32'h3cb20048,  // st64 r2, ram[r12 + 0x48]
      32'h30419004,  // ld32 r1, adm[r0 + 0x1004]
      32'h580002ca,  // berr short
      32'h00400018,  // li r1, 24
      32'h00800060,  // li r2, 96
      32'h00c00005,  // li r3, 5
      32'h6400031e,  // call keep
      32'h00400004,  // li r1, 4
      32'h00800088,  // li r2, 136
      32'h00c00003,  // li r3, 3
      32'h6400031e,  // call keep
      32'h34720098,  // ld64 r1, ram[r12 + 0x98]
      32'h28440020,  // shl r1, r1, 32
      32'h2c440020,  // shr r1, r1, 32
      32'h3c720098,  // st64 r1, ram[r12 + 0x98]
      32'h00400040,  // li r1, 64
      32'h008000a0,  // li r2, 160
      32'h00c00001,  // li r3, 1
      32'h6400031e,  // call keep
      32'h83464e49,  // say "INF"
      32'h83203a4f,  // say "O: "
      32'h834d564e,  // say "NVM"
      32'h83532065,  // say "e S"
      32'h83204453,  // say "SD "
      32'h836e6f43,  // say "Con"
      32'h836f7274,  // say "tro"
      32'h83656c6c,  // say "lle"
      32'h83692072,  // say "r i"
      32'h82002073,  // say "s "
      32'h00800060,  // li r2, 96
      32'h00c00028,  // li r3, 40
      32'h64000329,  // call text
      32'h83522820,  // say " (R"
      32'h83207665,  // say "ev "
      32'h008000a0,  // li r2, 160
      32'h00c00008,  // li r3, 8
      32'h64000329,  // call text
      32'h83282029,  // say ") ("
      32'h834e2f53,  // say "S/N"
      32'h81000020,  // say " "
      32'h00800088,  // li r2, 136
      32'h00c00018,  // li r3, 24
      32'h64000329,  // call text
      32'h82000a29,  // say ")\n"
      32'h68000000,  // ret
      32'h83746e65,  // say "ent"
      32'h83207972,  // say "ry "
      32'h837a6973,  // say "siz"
      32'h82007365,  // say "es"
      32'h03c00010,  // li r15, 16
      32'h60000280,  // jmp keep_found
      32'h1088000c,  // add r2, r2, r12
      32'h31059004,  // ld32 r4, adm[r1 + 0x1004]
      32'h29100020,  // shl r4, r4, 32
      32'h31459000,  // ld32 r5, adm[r1 + 0x1000]
      32'h1d100005,  // or r4, r4, r5
      32'h3d0a0000,  // st64 r4, ram[r2]
      32'h10448008,  // add r1, r1, 8
      32'h10888008,  // add r2, r2, 8
      32'h14cc8001,  // sub r3, r3, 1
      32'h44c0031f,  // bne r3, r0, _799
      32'h68000000,  // ret
      32'h1088000c,  // add r2, r2, r12
      32'h10cc0002,  // add r3, r3, r2
      32'h01602020,  // li r5, -2088928
      32'h05412020,  // ins r5, 1, 0x2020
      32'h05422020,  // ins r5, 2, 0x2020
      32'h05432020,  // ins r5, 3, 0x2020
      32'h408c033f,  // beq r2, r3, _831
      32'h14cc8008,  // sub r3, r3, 8
      32'h344e0000,  // ld64 r1, ram[r3]
      32'h1d040005,  // or r4, r1, r5
      32'h4114032f,  // beq r4, r5, _815
      32'h408c0339,  // beq r2, r3, _825
      32'h350a0000,  // ld64 r4, ram[r2]
      32'h8d000007,  // chars r4, 8
      32'h10888008,  // add r2, r2, 8
      32'h60000334,  // jmp _820
      32'h1d040005,  // or r4, r1, r5
      32'h4114033f,  // beq r4, r5, _831
      32'h8c400000,  // chars r1, 1
      32'h2c440008,  // shr r1, r1, 8
      32'h2d540008,  // shr r5, r5, 8
      32'h60000339,  // jmp _825
      32'h68000000,  // ret
      32'h00800000,  // li r2, 0
      32'h01000002,  // li r4, 2
      32'h640002a3,  // call identify
      32'h47c0037c,  // bne r15, r0, _892
      32'h30819000,  // ld32 r2, adm[r0 + 0x1000]
      32'h580002ca,  // berr short
      32'h40800381,  // beq r2, r0, _897
      32'h3cb20030,  // st64 r2, ram[r12 + 0x30]
      32'h01000000,  // li r4, 0
      32'h640002a3,  // call identify
      32'h47c0037c,  // bne r15, r0, _892
      32'h34419000,  // ld64 r1, adm[r0 + 0x1000]
      32'h580002ca,  // berr short
      32'h40400381,  // beq r1, r0, _897
      32'h3c720038,  // st64 r1, ram[r12 + 0x38]
      32'h30819018,  // ld32 r2, adm[r0 + 0x1018]
      32'h580002ca,  // berr short
      32'h2c880010,  // shr r2, r2, 16
      32'h1888800f,  // and r2, r2, 15
      32'h28880002,  // shl r2, r2, 2
      32'h30899080,  // ld32 r2, adm[r2 + 0x1080]
      32'h580002ca,  // berr short
      32'h3cb20020,  // st64 r2, ram[r12 + 0x20]
      32'h00c0ffff,  // li r3, 65535
      32'h18c80003,  // and r3, r2, r3
      32'h44c0037d,  // bne r3, r0, _893
      32'h2c880010,  // shr r2, r2, 16
      32'h188880ff,  // and r2, r2, 255
      32'h28c40009,  // shl r3, r1, 9
      32'h2d0c0009,  // shr r4, r3, 9
      32'h15488009,  // sub r5, r2, 9
      32'h41400364,  // beq r5, r0, _868
      32'h1548800c,  // sub r5, r2, 12
      32'h4540037d,  // bne r5, r0, _893
      32'h28c4000c,  // shl r3, r1, 12
      32'h2d0c000c,  // shr r4, r3, 12
      32'h4504037d,  // bne r4, r1, _893
      32'h3cb20040,  // st64 r2, ram[r12 + 0x40]
      32'h83464e49,  // say "INF"
      32'h83203a4f,  // say "O: "
      32'h836d614e,  // say "Nam"
      32'h83707365,  // say "esp"
      32'h83656361,  // say "ace"
      32'h81000020,  // say " "
      32'h34b20030,  // ld64 r2, ram[r12 + 0x30]
      32'h88800000,  // dec r2
      32'h83616820,  // say " ha"
      32'h83612073,  // say "s a"
      32'h836f7420,  // say " to"
      32'h836c6174,  // say "tal"
      32'h83697320,  // say " si"
      32'h8320657a,  // say "ze "
      32'h8320666f,  // say "of "
      32'h88c00000,  // dec r3
      32'h83302820,  // say " (0"
      32'h81000078,  // say "x"
      32'h84c0000b,  // hex r3, 12
      32'h83622029,  // say ") b"
      32'h83657479,  // say "yte"
      32'h830a2e73,  // say "s.\n"
      32'h68000000,  // ret
      32'h83726f66,  // say "for"
      32'h8374616d,  // say "mat"
      32'h03c00012,  // li r15, 18
      32'h68000000,  // ret
      32'h83206f6e,  // say "no "
      32'h836d616e,  // say "nam"
      32'h83707365,  // say "esp"
      32'h83656361,  // say "ace"
      32'h03c00011,  // li r15, 17
      32'h00400000,  // li r1, 0
      32'h60000280,  // jmp keep_found
      32'h00400009,  // li r1, 9
      32'h00800000,  // li r2, 0
      32'h00c00000,  // li r3, 0
      32'h01000007,  // li r4, 7
      32'h01400000,  // li r5, 0
      32'h640002a8,  // call admin
      32'h47c003a6,  // bne r15, r0, refused
      32'h34c206a0,  // ld64 r3, ram[r0 + 0x6a0]
      32'h35028018,  // ld64 r4, port[r0 + 0x18]
      32'h35428020,  // ld64 r5, port[r0 + 0x20]
      32'h40c00397,  // beq r3, r0, _919
      32'h54c00395,  // bclr r3, 0, _917
      32'h11100005,  // add r4, r4, r5
      32'h2ccc0001,  // shr r3, r3, 1
      32'h60000392,  // jmp _914
      32'h3d0206a8,  // st64 r4, ram[r0 + 0x6a8]
      32'h2d540001,  // shr r5, r5, 1
      32'h10d00005,  // add r3, r4, r5
      32'h640003ae,  // call entries
      32'h01400001,  // li r5, 1
      32'h00400005,  // li r1, 5
      32'h640002a8,  // call admin
      32'h47c003a6,  // bne r15, r0, refused
      32'h34c206a8,  // ld64 r3, ram[r0 + 0x6a8]
      32'h640003ae,  // call entries
      32'h01410001,  // li r5, 65537
      32'h00400001,  // li r1, 1
      32'h640002a8,  // call admin
      32'h47c003a6,  // bne r15, r0, refused
      32'h68000000,  // ret
      32'h147c800f,  // sub r1, r15, 15
      32'h444003ad,  // bne r1, r0, _941
      32'h836e202c,  // say ", n"
      32'h8371206f,  // say "o q"
      32'h83756575,  // say "ueu"
      32'h81000065,  // say "e"
      32'h03c00013,  // li r15, 19
      32'h68000000,  // ret
      32'h35320050,  // ld64 r4, ram[r12 + 0x50]
      32'h15108001,  // sub r4, r4, 1
      32'h29100010,  // shl r4, r4, 16
      32'h11108001,  // add r4, r4, 1
      32'h00800000,  // li r2, 0
      32'h68000000,  // ret
      32'h640003b9,  // call note
      32'h64000235,  // call lost
      32'h34428050,  // ld64 r1, port[r0 + 0x50]
      32'h504003db,  // bset r1, 0, no_drive
      32'h68000000,  // ret
      32'h3ff20018,  // st64 r15, ram[r12 + 0x18]
      32'h3fc28060,  // st64 r15, port[r0 + 0x60]
      32'h8345203a,  // say ": E"
      32'h834f5252,  // say "RRO"
      32'h82002052,  // say "R "
      32'h8bc00000,  // dec r15
      32'h83746120,  // say " at"
      32'h81000020,  // say " "
      32'h6400016c,  // call place
      32'h8100000a,  // say "\n"
      32'h68000000,  // ret
      32'h83206f6e,  // say "no "
      32'h836e696c,  // say "lin"
      32'h8100006b,  // say "k"
      32'h03c00001,  // li r15, 1
      32'h600003f8,  // jmp over
      32'h83206f6e,  // say "no "
      32'h836f6f72,  // say "roo"
      32'h83702074,  // say "t p"
      32'h8374726f,  // say "ort"
      32'h03c00002,  // li r15, 2
      32'h600003f8,  // jmp over
      32'h836f6f74,  // say "too"
      32'h83656420,  // say " de"
      32'h82007065,  // say "ep"
      32'h03c00003,  // li r15, 3
      32'h600003f8,  // jmp over
      32'h836f6f74,  // say "too"
      32'h83616d20,  // say " ma"
      32'h8320796e,  // say "ny "
      32'h83737562,  // say "bus"
      32'h82007365,  // say "es"
      32'h03c00004,  // li r15, 4
      32'h600003f8,  // jmp over
      32'h64000235,  // call lost
      32'h83206f6e,  // say "no "
      32'h83697264,  // say "dri"
      32'h82006576,  // say "ve"
      32'h03c00009,  // li r15, 9
      32'h600003f8,  // jmp over
      32'h836e696c,  // say "lin"
      32'h836c206b,  // say "k l"
      32'h8374736f,  // say "ost"
      32'h03c00016,  // li r15, 22
      32'h600003f8,  // jmp over
      32'h83727473,  // say "str"
      32'h836d6165,  // say "eam"
      32'h82007265,  // say "er"
      32'h03c00014,  // li r15, 20
      32'h600003f8,  // jmp over
      32'h83697264,  // say "dri"
      32'h83736576,  // say "ves"
      32'h83696420,  // say " di"
      32'h83656666,  // say "ffe"
      32'h81000072,  // say "r"
      32'h03c00015,  // li r15, 21
      32'h3ff20018,  // st64 r15, ram[r12 + 0x18]
      32'h600003f8,  // jmp over
      32'h83697262,  // say "bri"
      32'h83656764,  // say "dge"
      32'h83756820,  // say " hu"
      32'h8200676e,  // say "ng"
      32'h03c00018,  // li r15, 24
      32'h640003ba,  // call complain
      32'hf83c0000,  // fail r15
      32'hfc000000,  // unused
      32'hfc000000,  // unused
      32'hfc000000,  // unused
      32'hfc000000,  // unused
      32'hfc000000,  // unused
      32'hfc000000  // unused
  };

endpackage

`default_nettype wire
