// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Generated from rtl/boot/boot.seq by scripts/generate: do not edit.
`default_nettype none

package fb_boot_rom_pkg;

  localparam logic [31:0] PROGRAM[1024] = '{
      32'h00400001,  // li r1, 1
      32'h3c428058,  // st64 r1, port[r0 + 0x58]
      32'h3c028068,  // st64 r0, port[r0 + 0x68]
      32'h00400001,  // li r1, 1
      32'h3c428008,  // st64 r1, port[r0 + 0x8]
      32'h34828070,  // ld64 r2, port[r0 + 0x70]
      32'h72000002,  // wait r2
      32'h3c028008,  // st64 r0, port[r0 + 0x8]
      32'h6c1e8480,  // timer 2000000
      32'h34428000,  // ld64 r1, port[r0]
      32'h5040000e,  // bset r1, 0, _14
      32'h5c00039f,  // btime no_link
      32'h7000000a,  // wait 10
      32'h60000009,  // jmp _9
      32'h72000002,  // wait r2
      32'h03000600,  // li r12, 1536
      32'h17308008,  // sub r12, r12, 8
      32'h3c320000,  // st64 r0, ram[r12]
      32'h47000010,  // bne r12, r0, _16
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
      32'h640000fe,  // call identity
      32'h404003a7,  // beq r1, r0, no_root
      32'h64000120,  // call is_bridge
      32'h404003a7,  // beq r1, r0, no_root
      32'h6400012a,  // call express
      32'h404003a7,  // beq r1, r0, no_root
      32'h3084001c,  // ld32 r2, cfg[r1 + 0x1c]
      32'h54804027,  // bclr r2, 16, _39
      32'h00800010,  // li r2, 16
      32'h3884001c,  // st32 r2, cfg[r1 + 0x1c]
      32'h6400015b,  // call link
      32'h64000187,  // call show
      32'h34828038,  // ld64 r2, port[r0 + 0x38]
      32'h4080002c,  // beq r2, r0, _44
      32'h38800010,  // st32 r2, cfg[r0 + 0x10]
      32'h6400012a,  // call express
      32'h64000059,  // call enter
      32'h640000fe,  // call identity
      32'h4040003f,  // beq r1, r0, none
      32'h64000187,  // call show
      32'h64000120,  // call is_bridge
      32'h40400037,  // beq r1, r0, _55
      32'h6400012a,  // call express
      32'h4040003d,  // beq r1, r0, _61
      32'h64000059,  // call enter
      32'h6000002e,  // jmp scan
      32'h30600008,  // ld32 r1, cfg[r8 + 0x8]
      32'h2c440008,  // shr r1, r1, 8
      32'h00810802,  // li r2, 67586
      32'h44480042,  // bne r1, r2, next
      32'h640000a2,  // call found
      32'h60000042,  // jmp next
      32'h64000391,  // call single
      32'h60000042,  // jmp next
      32'h00407000,  // li r1, 28672
      32'h18a00001,  // and r2, r8, r1
      32'h4080004c,  // beq r2, r0, device
      32'h00407000,  // li r1, 28672
      32'h18a00001,  // and r2, r8, r1
      32'h4084004c,  // beq r2, r1, device
      32'h44800049,  // bne r2, r0, _73
      32'h30e0000c,  // ld32 r3, cfg[r8 + 0xc]
      32'h5800004c,  // berr device
      32'h54c05c4c,  // bclr r3, 23, device
      32'h00401000,  // li r1, 4096
      32'h12200001,  // add r8, r8, r1
      32'h6000002e,  // jmp scan
      32'h00407000,  // li r1, 28672
      32'h26200001,  // andn r8, r8, r1
      32'h29240004,  // shl r4, r9, 4
      32'h34920600,  // ld64 r2, ram[r4 + 0x600]
      32'h2ce0000f,  // shr r3, r8, 15
      32'h18cc801f,  // and r3, r3, 31
      32'h4cc80056,  // bgeu r3, r2, leave
      32'h00408000,  // li r1, 32768
      32'h12200001,  // add r8, r8, r1
      32'h6000002e,  // jmp scan
      32'h64000084,  // call close
      32'h46400042,  // bne r9, r0, next
      32'h6000019a,  // jmp drives
      32'h64000148,  // call supports
      32'h14a48008,  // sub r2, r9, 8
      32'h408003b1,  // beq r2, r0, too_deep
      32'h14a88028,  // sub r2, r10, 40
      32'h408003bf,  // beq r2, r0, too_many
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
      32'h44800075,  // bne r2, r0, _117
      32'h00c0001f,  // li r3, 31
      32'h3cd20600,  // st64 r3, ram[r4 + 0x600]
      32'h3084000c,  // ld32 r2, cfg[r1 + 0xc]
      32'h54805082,  // bclr r2, 20, _130
      32'h30840010,  // ld32 r2, cfg[r1 + 0x10]
      32'h50807482,  // bset r2, 29, _130
      32'h34c28070,  // ld64 r3, port[r0 + 0x70]
      32'h6e000003,  // timer r3
      32'h30840010,  // ld32 r2, cfg[r1 + 0x10]
      32'h50807481,  // bset r2, 29, _129
      32'h5c000082,  // btime _130
      32'h7000000a,  // wait 10
      32'h6000007c,  // jmp _124
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
      32'h40ac009a,  // beq r2, r11, _154
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
      32'h404000a8,  // beq r1, r0, _168
      32'h108880c0,  // add r2, r2, 192
      32'h14448001,  // sub r1, r1, 1
      32'h600000a4,  // jmp _164
      32'h4f0800e7,  // bgeu r12, r2, _231
      32'h3e320000,  // st64 r8, ram[r12]
      32'h0040ffff,  // li r1, 65535
      32'h0441ffff,  // ins r1, 1, 0xffff
      32'h38600010,  // st32 r1, cfg[r8 + 0x10]
      32'h30a00010,  // ld32 r2, cfg[r8 + 0x10]
      32'h580000f3,  // berr _243
      32'h508000f3,  // bset r2, 0, _243
      32'h508004f3,  // bset r2, 1, _243
      32'h01400020,  // li r5, 32
      32'h548008b7,  // bclr r2, 2, _183
      32'h01400040,  // li r5, 64
      32'h38600014,  // st32 r1, cfg[r8 + 0x14]
      32'h31200014,  // ld32 r4, cfg[r8 + 0x14]
      32'h450400f3,  // bne r4, r1, _243
      32'h2508800f,  // andn r4, r2, 15
      32'h14c40004,  // sub r3, r1, r4
      32'h01003fff,  // li r4, 16383
      32'h48d000f3,  // bltu r3, r4, _243
      32'h0100ffff,  // li r4, 65535
      32'h050100ff,  // ins r4, 1, 0xff
      32'h490c00f3,  // bltu r4, r3, _243
      32'h110c8001,  // add r4, r3, 1
      32'h19900003,  // and r6, r4, r3
      32'h458000f3,  // bne r6, r0, _243
      32'h3d320058,  // st64 r4, ram[r12 + 0x58]
      32'h11ac0003,  // add r6, r11, r3
      32'h25980003,  // andn r6, r6, r3
      32'h10980004,  // add r2, r6, r4
      32'h35c28030,  // ld64 r7, port[r0 + 0x30]
      32'h49c800e8,  // bltu r7, r2, _232
      32'h39a00010,  // st32 r6, cfg[r8 + 0x10]
      32'h15d48020,  // sub r7, r5, 32
      32'h41c000cb,  // beq r7, r0, _203
      32'h38200014,  // st32 r0, cfg[r8 + 0x14]
      32'h3db20008,  // st64 r6, ram[r12 + 0x8]
      32'h64000175,  // call indent
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
      32'h6400012a,  // call express
      32'h404000e4,  // beq r1, r0, _228
      32'h64000148,  // call supports
      32'h00400002,  // li r1, 2
      32'h38600004,  // st32 r1, cfg[r8 + 0x4]
      32'h600000e6,  // jmp _230
      32'h3ff20018,  // st64 r15, ram[r12 + 0x18]
      32'h64000391,  // call single
      32'h133080c0,  // add r12, r12, 192
      32'h68000000,  // ret
      32'h3d320020,  // st64 r4, ram[r12 + 0x20]
      32'h83525245,  // say "ERR"
      32'h833a524f,  // say "OR:"
      32'h836f6e20,  // say " no"
      32'h836f7220,  // say " ro"
      32'h83206d6f,  // say "om "
      32'h83726f66,  // say "for"
      32'h83414220,  // say " BA"
      32'h83302052,  // say "R 0"
      32'h03c00007,  // li r15, 7
      32'h600000fb,  // jmp _251
      32'h3cb20020,  // st64 r2, ram[r12 + 0x20]
      32'h83525245,  // say "ERR"
      32'h833a524f,  // say "OR:"
      32'h83616220,  // say " ba"
      32'h83422064,  // say "d B"
      32'h83205241,  // say "AR "
      32'h81000030,  // say "0"
      32'h03c00008,  // li r15, 8
      32'h6400038f,  // call raise
      32'h133080c0,  // add r12, r12, 192
      32'h68000000,  // ret
      32'h6c0f4240,  // timer 1000000
      32'h30600000,  // ld32 r1, cfg[r8]
      32'h5800011d,  // berr gone
      32'h0080ffff,  // li r2, 65535
      32'h0481ffff,  // ins r2, 1, 0xffff
      32'h4048010a,  // beq r1, r2, _266
      32'h00800001,  // li r2, 1
      32'h0481ffff,  // ins r2, 1, 0xffff
      32'h4448010b,  // bne r1, r2, _267
      32'h5c00010c,  // btime late
      32'h7000000a,  // wait 10
      32'h600000ff,  // jmp _255
      32'h00400000,  // li r1, 0
      32'h68000000,  // ret
      32'h83525245,  // say "ERR"
      32'h833a524f,  // say "OR:"
      32'h83657220,  // say " re"
      32'h83797274,  // say "try"
      32'h83697720,  // say " wi"
      32'h836f6874,  // say "tho"
      32'h83207475,  // say "ut "
      32'h83646e65,  // say "end"
      32'h03c00005,  // li r15, 5
      32'h64000395,  // call complain
      32'h64000391,  // call single
      32'h344206b0,  // ld64 r1, ram[r0 + 0x6b0]
      32'h10448001,  // add r1, r1, 1
      32'h3c4206b0,  // st64 r1, ram[r0 + 0x6b0]
      32'h14448008,  // sub r1, r1, 8
      32'h4440010a,  // bne r1, r0, _266
      32'hf8000005,  // fail 5
      32'h640001ea,  // call lost
      32'h00400000,  // li r1, 0
      32'h68000000,  // ret
      32'h3060000c,  // ld32 r1, cfg[r8 + 0xc]
      32'h2c440010,  // shr r1, r1, 16
      32'h1844807f,  // and r1, r1, 127
      32'h40400126,  // beq r1, r0, _294
      32'h14448001,  // sub r1, r1, 1
      32'h40400128,  // beq r1, r0, _296
      32'h00400000,  // li r1, 0
      32'h68000000,  // ret
      32'h00400001,  // li r1, 1
      32'h68000000,  // ret
      32'h30600034,  // ld32 r1, cfg[r8 + 0x34]
      32'h01c00030,  // li r7, 48
      32'h184480fc,  // and r1, r1, 252
      32'h40400138,  // beq r1, r0, _312
      32'h41c00138,  // beq r7, r0, _312
      32'h15dc8001,  // sub r7, r7, 1
      32'h10a00001,  // add r2, r8, r1
      32'h30480000,  // ld32 r1, cfg[r2]
      32'h198480ff,  // and r6, r1, 255
      32'h2c440008,  // shr r1, r1, 8
      32'h15988010,  // sub r6, r6, 16
      32'h4580012c,  // bne r6, r0, _300
      32'h10488000,  // add r1, r2, 0
      32'h68000000,  // ret
      32'h640001ea,  // call lost
      32'h83525245,  // say "ERR"
      32'h833a524f,  // say "OR:"
      32'h836f6e20,  // say " no"
      32'h83435020,  // say " PC"
      32'h83452049,  // say "I E"
      32'h83727078,  // say "xpr"
      32'h83737365,  // say "ess"
      32'h83616320,  // say " ca"
      32'h83626170,  // say "pab"
      32'h83696c69,  // say "ili"
      32'h82007974,  // say "ty"
      32'h03c00006,  // li r15, 6
      32'h64000395,  // call complain
      32'h00400000,  // li r1, 0
      32'h68000000,  // ret
      32'h30840004,  // ld32 r2, cfg[r1 + 0x4]
      32'h18888007,  // and r2, r2, 7
      32'h4cb8014c,  // bgeu r2, r14, _332
      32'h13888000,  // add r14, r2, 0
      32'h68000000,  // ret
      32'h6400012a,  // call express
      32'h4040015a,  // beq r1, r0, _346
      32'h30840008,  // ld32 r2, cfg[r1 + 0x8]
      32'h5800015a,  // berr _346
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
      32'h4040017c,  // beq r1, r0, place
      32'h832d2d2d,  // say "---"
      32'h8100002d,  // say "-"
      32'h14448001,  // sub r1, r1, 1
      32'h60000177,  // jmp _375
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
      32'h64000175,  // call indent
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
      32'h430803c9,  // beq r12, r2, no_drive
      32'h428001a5,  // beq r10, r0, _421
      32'h16a88001,  // sub r10, r10, 1
      32'h28680003,  // shl r1, r10, 3
      32'h360606c0,  // ld64 r8, ram[r1 + 0x6c0]
      32'h6400014d,  // call pay
      32'h6000019f,  // jmp _415
      32'h03000000,  // li r12, 0
      32'h00400001,  // li r1, 1
      32'h3c420698,  // st64 r1, ram[r0 + 0x698]
      32'h36320000,  // ld64 r8, ram[r12]
      32'h37f20018,  // ld64 r15, ram[r12 + 0x18]
      32'h47c001be,  // bne r15, r0, _446
      32'h6400014d,  // call pay
      32'h47c001b6,  // bne r15, r0, _438
      32'h37720008,  // ld64 r13, ram[r12 + 0x8]
      32'h00400006,  // li r1, 6
      32'h38600004,  // st32 r1, cfg[r8 + 0x4]
      32'h640001ee,  // call bring_up
      32'h43c001b9,  // beq r15, r0, _441
      32'h00400002,  // li r1, 2
      32'h38600004,  // st32 r1, cfg[r8 + 0x4]
      32'h6400038f,  // call raise
      32'h600001be,  // jmp _446
      32'h3ff20018,  // st64 r15, ram[r12 + 0x18]
      32'h64000391,  // call single
      32'h600001be,  // jmp _446
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
      32'h4b0401a8,  // bltu r12, r1, each
      32'h344206a0,  // ld64 r1, ram[r0 + 0x6a0]
      32'h444001c7,  // bne r1, r0, ready
      32'h600003c9,  // jmp no_drive
      32'h00400004,  // li r1, 4
      32'h3c428058,  // st64 r1, port[r0 + 0x58]
      32'h34428050,  // ld64 r1, port[r0 + 0x50]
      32'h504005cc,  // bset r1, 1, watch
      32'hfc000000,  // stop
      32'h6c0003e8,  // timer 1000
      32'h5c0001d0,  // btime _464
      32'h700003e8,  // wait 1000
      32'h600001cd,  // jmp _461
      32'h640001ea,  // call lost
      32'h03000000,  // li r12, 0
      32'h358206a0,  // ld64 r6, ram[r0 + 0x6a0]
      32'h418001cc,  // beq r6, r0, watch
      32'h558001dc,  // bclr r6, 0, _476
      32'h36320000,  // ld64 r8, ram[r12]
      32'h37720008,  // ld64 r13, ram[r12 + 0x8]
      32'h3074801c,  // ld32 r1, mmio[r13 + 0x1c]
      32'h580001df,  // berr _479
      32'h18848003,  // and r2, r1, 3
      32'h14888001,  // sub r2, r2, 1
      32'h448001df,  // bne r2, r0, _479
      32'h133080c0,  // add r12, r12, 192
      32'h2d980001,  // shr r6, r6, 1
      32'h600001d3,  // jmp _467
      32'h3c720020,  // st64 r1, ram[r12 + 0x20]
      32'h640001ea,  // call lost
      32'h83525245,  // say "ERR"
      32'h833a524f,  // say "OR:"
      32'h83726420,  // say " dr"
      32'h83657669,  // say "ive"
      32'h83696420,  // say " di"
      32'h82006465,  // say "ed"
      32'h03c00017,  // li r15, 23
      32'h64000394,  // call note
      32'hf8000017,  // fail 23
      32'h34428000,  // ld64 r1, port[r0]
      32'h504007db,  // bset r1, 1, hung
      32'h544003d2,  // bclr r1, 0, link_lost
      32'h68000000,  // ret
      32'h34748000,  // ld64 r1, mmio[r13]
      32'h5800022b,  // berr mute
      32'h0080ffff,  // li r2, 65535
      32'h0481ffff,  // ins r2, 1, 0xffff
      32'h18c40002,  // and r3, r1, r2
      32'h40c8022b,  // beq r3, r2, mute
      32'h3c720010,  // st64 r1, ram[r12 + 0x10]
      32'h54409634,  // bclr r1, 37, cannot
      32'h2c840030,  // shr r2, r1, 48
      32'h1888800f,  // and r2, r2, 15
      32'h44800234,  // bne r2, r0, cannot
      32'h0080ffff,  // li r2, 65535
      32'h18c40002,  // and r3, r1, r2
      32'h40c00234,  // beq r3, r0, cannot
      32'h10cc8001,  // add r3, r3, 1
      32'h35028048,  // ld64 r4, port[r0 + 0x48]
      32'h4cd00200,  // bgeu r3, r4, _512
      32'h110c8000,  // add r4, r3, 0
      32'h3d320050,  // st64 r4, ram[r12 + 0x50]
      32'h6400023e,  // call stride
      32'h28880002,  // shl r2, r2, 2
      32'h00c01000,  // li r3, 4096
      32'h10880003,  // add r2, r2, r3
      32'h34f20058,  // ld64 r3, ram[r12 + 0x58]
      32'h48c80234,  // bltu r3, r2, cannot
      32'h2c840018,  // shr r2, r1, 24
      32'h188880ff,  // and r2, r2, 255
      32'h4480020b,  // bne r2, r0, _523
      32'h00800001,  // li r2, 1
      32'h00c7a120,  // li r3, 500000
      32'h01000000,  // li r4, 0
      32'h11100003,  // add r4, r4, r3
      32'h14888001,  // sub r2, r2, 1
      32'h4480020d,  // bne r2, r0, _525
      32'h3d320028,  // st64 r4, ram[r12 + 0x28]
      32'h38348014,  // st32 r0, mmio[r13 + 0x14]
      32'h01400000,  // li r5, 0
      32'h64000247,  // call wait_ready
      32'h47c0022a,  // bne r15, r0, _554
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
      32'h64000247,  // call wait_ready
      32'h47c0022a,  // bne r15, r0, _554
      32'h640002a4,  // call controller
      32'h47c0022a,  // bne r15, r0, _554
      32'h64000316,  // call namespace
      32'h47c0022a,  // bne r15, r0, _554
      32'h64000364,  // call queues
      32'h68000000,  // ret
      32'h83525245,  // say "ERR"
      32'h833a524f,  // say "OR:"
      32'h836f6e20,  // say " no"
      32'h836e6120,  // say " an"
      32'h83657773,  // say "swe"
      32'h81000072,  // say "r"
      32'h03c0000a,  // li r15, 10
      32'h3c720020,  // st64 r1, ram[r12 + 0x20]
      32'h68000000,  // ret
      32'h83525245,  // say "ERR"
      32'h833a524f,  // say "OR:"
      32'h83616320,  // say " ca"
      32'h83626170,  // say "pab"
      32'h83696c69,  // say "ili"
      32'h83656974,  // say "tie"
      32'h81000073,  // say "s"
      32'h03c0000b,  // li r15, 11
      32'h3c720020,  // st64 r1, ram[r12 + 0x20]
      32'h68000000,  // ret
      32'h34f20010,  // ld64 r3, ram[r12 + 0x10]
      32'h2ccc0020,  // shr r3, r3, 32
      32'h18cc800f,  // and r3, r3, 15
      32'h00800004,  // li r2, 4
      32'h40c00246,  // beq r3, r0, _582
      32'h28880001,  // shl r2, r2, 1
      32'h14cc8001,  // sub r3, r3, 1
      32'h60000242,  // jmp _578
      32'h68000000,  // ret
      32'h34720028,  // ld64 r1, ram[r12 + 0x28]
      32'h6e000001,  // timer r1
      32'h3074801c,  // ld32 r1, mmio[r13 + 0x1c]
      32'h5800022b,  // berr mute
      32'h0080ffff,  // li r2, 65535
      32'h0481ffff,  // ins r2, 1, 0xffff
      32'h4048022b,  // beq r1, r2, mute
      32'h3c720020,  // st64 r1, ram[r12 + 0x20]
      32'h50400657,  // bset r1, 1, _599
      32'h18448001,  // and r1, r1, 1
      32'h40540255,  // beq r1, r5, _597
      32'h5c000260,  // btime _608
      32'h7000000a,  // wait 10
      32'h60000249,  // jmp _585
      32'h03c00000,  // li r15, 0
      32'h68000000,  // ret
      32'h83525245,  // say "ERR"
      32'h833a524f,  // say "OR:"
      32'h83616620,  // say " fa"
      32'h836c6174,  // say "tal"
      32'h83747320,  // say " st"
      32'h83757461,  // say "atu"
      32'h81000073,  // say "s"
      32'h03c0000d,  // li r15, 13
      32'h68000000,  // ret
      32'h83525245,  // say "ERR"
      32'h833a524f,  // say "OR:"
      32'h836f6e20,  // say " no"
      32'h83722074,  // say "t r"
      32'h83646165,  // say "ead"
      32'h83692079,  // say "y i"
      32'h8374206e,  // say "n t"
      32'h83656d69,  // say "ime"
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
      32'h50407e7f,  // bset r1, 31, _639
      32'h5c00028a,  // btime _650
      32'h7000000a,  // wait 10
      32'h6000027a,  // jmp _634
      32'h6400023e,  // call stride
      32'h11dc0002,  // add r7, r7, r2
      32'h31818018,  // ld32 r6, adm[r0 + 0x18]
      32'h399c8000,  // st32 r6, mmio[r7]
      32'h01807fff,  // li r6, 32767
      32'h18440006,  // and r1, r1, r6
      32'h018007ff,  // li r6, 2047
      32'h18840006,  // and r2, r1, r6
      32'h44800298,  // bne r2, r0, _664
      32'h03c00000,  // li r15, 0
      32'h68000000,  // ret
      32'h3074801c,  // ld32 r1, mmio[r13 + 0x1c]
      32'h83525245,  // say "ERR"
      32'h833a524f,  // say "OR:"
      32'h83646120,  // say " ad"
      32'h836e696d,  // say "min"
      32'h836f6320,  // say " co"
      32'h83616d6d,  // say "mma"
      32'h8320646e,  // say "nd "
      32'h8374616c,  // say "lat"
      32'h81000065,  // say "e"
      32'h03c0000e,  // li r15, 14
      32'h3c720020,  // st64 r1, ram[r12 + 0x20]
      32'h68000000,  // ret
      32'h00400000,  // li r1, 0
      32'h83525245,  // say "ERR"
      32'h833a524f,  // say "OR:"
      32'h83646120,  // say " ad"
      32'h836e696d,  // say "min"
      32'h836f6320,  // say " co"
      32'h83616d6d,  // say "mma"
      32'h8320646e,  // say "nd "
      32'h83696166,  // say "fai"
      32'h8364656c,  // say "led"
      32'h03c0000f,  // li r15, 15
      32'h3c720020,  // st64 r1, ram[r12 + 0x20]
      32'h68000000,  // ret
      32'h00800000,  // li r2, 0
      32'h01000001,  // li r4, 1
      32'h6400026a,  // call identify
      32'h47c002ea,  // bne r15, r0, _746
      32'h30419200,  // ld32 r1, adm[r0 + 0x1200]
      32'h58000297,  // berr short
      32'h1884800f,  // and r2, r1, 15
      32'h14888006,  // sub r2, r2, 6
      32'h448002eb,  // bne r2, r0, _747
      32'h2c840008,  // shr r2, r1, 8
      32'h1888800f,  // and r2, r2, 15
      32'h14888004,  // sub r2, r2, 4
      32'h448002eb,  // bne r2, r0, _747
      32'h3041904c,  // ld32 r1, adm[r0 + 0x104c]
      32'h58000297,  // berr short
      32'h2c440008,  // shr r1, r1, 8
      32'h184480ff,  // and r1, r1, 255
      32'h00800000,  // li r2, 0
      32'h404002bd,  // beq r1, r0, _701
      32'h14c48014,  // sub r3, r1, 20
      32'h54c0febd,  // bclr r3, 63, _701
      32'h00801000,  // li r2, 4096
      32'h28880001,  // shl r2, r2, 1
      32'h14448001,  // sub r1, r1, 1
      32'h444002ba,  // bne r1, r0, _698
      32'h3cb20048,  // st64 r2, ram[r12 + 0x48]
      32'h30419004,  // ld32 r1, adm[r0 + 0x1004]
      32'h58000297,  // berr short
      32'h00400018,  // li r1, 24
      32'h00800060,  // li r2, 96
      32'h00c00005,  // li r3, 5
      32'h640002f4,  // call keep
      32'h00400004,  // li r1, 4
      32'h00800088,  // li r2, 136
      32'h00c00003,  // li r3, 3
      32'h640002f4,  // call keep
      32'h34720098,  // ld64 r1, ram[r12 + 0x98]
      32'h0080ffff,  // li r2, 65535
      32'h0481ffff,  // ins r2, 1, 0xffff
      32'h18440002,  // and r1, r1, r2
      32'h3c720098,  // st64 r1, ram[r12 + 0x98]
      32'h00400040,  // li r1, 64
      32'h008000a0,  // li r2, 160
      32'h00c00001,  // li r3, 1
      32'h640002f4,  // call keep
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
      32'h640002ff,  // call text
      32'h83522820,  // say " (R"
      32'h83207665,  // say "ev "
      32'h008000a0,  // li r2, 160
      32'h00c00008,  // li r3, 8
      32'h640002ff,  // call text
      32'h83282029,  // say ") ("
      32'h834e2f53,  // say "S/N"
      32'h81000020,  // say " "
      32'h00800088,  // li r2, 136
      32'h00c00018,  // li r3, 24
      32'h640002ff,  // call text
      32'h82000a29,  // say ")\n"
      32'h68000000,  // ret
      32'h83525245,  // say "ERR"
      32'h833a524f,  // say "OR:"
      32'h836e6520,  // say " en"
      32'h83797274,  // say "try"
      32'h83697320,  // say " si"
      32'h8373657a,  // say "zes"
      32'h03c00010,  // li r15, 16
      32'h3c720020,  // st64 r1, ram[r12 + 0x20]
      32'h68000000,  // ret
      32'h1088000c,  // add r2, r2, r12
      32'h31059004,  // ld32 r4, adm[r1 + 0x1004]
      32'h29100020,  // shl r4, r4, 32
      32'h31459000,  // ld32 r5, adm[r1 + 0x1000]
      32'h1d100005,  // or r4, r4, r5
      32'h3d0a0000,  // st64 r4, ram[r2]
      32'h10448008,  // add r1, r1, 8
      32'h10888008,  // add r2, r2, 8
      32'h14cc8001,  // sub r3, r3, 1
      32'h44c002f5,  // bne r3, r0, _757
      32'h68000000,  // ret
      32'h1088000c,  // add r2, r2, r12
      32'h10cc0002,  // add r3, r3, r2
      32'h01602020,  // li r5, -2088928
      32'h05412020,  // ins r5, 1, 0x2020
      32'h05422020,  // ins r5, 2, 0x2020
      32'h05432020,  // ins r5, 3, 0x2020
      32'h408c0315,  // beq r2, r3, _789
      32'h14cc8008,  // sub r3, r3, 8
      32'h344e0000,  // ld64 r1, ram[r3]
      32'h1d040005,  // or r4, r1, r5
      32'h41140305,  // beq r4, r5, _773
      32'h408c030f,  // beq r2, r3, _783
      32'h350a0000,  // ld64 r4, ram[r2]
      32'h8d000007,  // chars r4, 8
      32'h10888008,  // add r2, r2, 8
      32'h6000030a,  // jmp _778
      32'h1d040005,  // or r4, r1, r5
      32'h41140315,  // beq r4, r5, _789
      32'h8c400000,  // chars r1, 1
      32'h2c440008,  // shr r1, r1, 8
      32'h2d540008,  // shr r5, r5, 8
      32'h6000030f,  // jmp _783
      32'h68000000,  // ret
      32'h00800000,  // li r2, 0
      32'h01000002,  // li r4, 2
      32'h6400026a,  // call identify
      32'h47c00352,  // bne r15, r0, _850
      32'h30819000,  // ld32 r2, adm[r0 + 0x1000]
      32'h58000297,  // berr short
      32'h4080035a,  // beq r2, r0, _858
      32'h3cb20030,  // st64 r2, ram[r12 + 0x30]
      32'h01000000,  // li r4, 0
      32'h6400026a,  // call identify
      32'h47c00352,  // bne r15, r0, _850
      32'h34419000,  // ld64 r1, adm[r0 + 0x1000]
      32'h58000297,  // berr short
      32'h4040035a,  // beq r1, r0, _858
      32'h3c720038,  // st64 r1, ram[r12 + 0x38]
      32'h30819018,  // ld32 r2, adm[r0 + 0x1018]
      32'h58000297,  // berr short
      32'h2c880010,  // shr r2, r2, 16
      32'h1888800f,  // and r2, r2, 15
      32'h28880002,  // shl r2, r2, 2
      32'h30899080,  // ld32 r2, adm[r2 + 0x1080]
      32'h58000297,  // berr short
      32'h3cb20020,  // st64 r2, ram[r12 + 0x20]
      32'h00c0ffff,  // li r3, 65535
      32'h18c80003,  // and r3, r2, r3
      32'h44c00353,  // bne r3, r0, _851
      32'h2c880010,  // shr r2, r2, 16
      32'h188880ff,  // and r2, r2, 255
      32'h28c40009,  // shl r3, r1, 9
      32'h2d0c0009,  // shr r4, r3, 9
      32'h15488009,  // sub r5, r2, 9
      32'h4140033a,  // beq r5, r0, _826
      32'h1548800c,  // sub r5, r2, 12
      32'h45400353,  // bne r5, r0, _851
      32'h28c4000c,  // shl r3, r1, 12
      32'h2d0c000c,  // shr r4, r3, 12
      32'h45040353,  // bne r4, r1, _851
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
      32'h83525245,  // say "ERR"
      32'h833a524f,  // say "OR:"
      32'h836f6620,  // say " fo"
      32'h83616d72,  // say "rma"
      32'h81000074,  // say "t"
      32'h03c00012,  // li r15, 18
      32'h68000000,  // ret
      32'h83525245,  // say "ERR"
      32'h833a524f,  // say "OR:"
      32'h836f6e20,  // say " no"
      32'h83616e20,  // say " na"
      32'h8373656d,  // say "mes"
      32'h83636170,  // say "pac"
      32'h81000065,  // say "e"
      32'h03c00011,  // li r15, 17
      32'h3c320020,  // st64 r0, ram[r12 + 0x20]
      32'h68000000,  // ret
      32'h00400009,  // li r1, 9
      32'h00800000,  // li r2, 0
      32'h00c00000,  // li r3, 0
      32'h01000007,  // li r4, 7
      32'h01400000,  // li r5, 0
      32'h6400026f,  // call admin
      32'h47c00381,  // bne r15, r0, refused
      32'h00c00000,  // li r3, 0
      32'h35028018,  // ld64 r4, port[r0 + 0x18]
      32'h35428020,  // ld64 r5, port[r0 + 0x20]
      32'h40f00372,  // beq r3, r12, _882
      32'h11100005,  // add r4, r4, r5
      32'h10cc80c0,  // add r3, r3, 192
      32'h6000036e,  // jmp _878
      32'h3d0206a8,  // st64 r4, ram[r0 + 0x6a8]
      32'h2d540001,  // shr r5, r5, 1
      32'h10d00005,  // add r3, r4, r5
      32'h64000389,  // call entries
      32'h01400001,  // li r5, 1
      32'h00400005,  // li r1, 5
      32'h6400026f,  // call admin
      32'h47c00381,  // bne r15, r0, refused
      32'h34c206a8,  // ld64 r3, ram[r0 + 0x6a8]
      32'h64000389,  // call entries
      32'h01410001,  // li r5, 65537
      32'h00400001,  // li r1, 1
      32'h6400026f,  // call admin
      32'h47c00381,  // bne r15, r0, refused
      32'h68000000,  // ret
      32'h147c800f,  // sub r1, r15, 15
      32'h44400388,  // bne r1, r0, _904
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
      32'h64000394,  // call note
      32'h640001ea,  // call lost
      32'h34428050,  // ld64 r1, port[r0 + 0x50]
      32'h504003c9,  // bset r1, 0, no_drive
      32'h68000000,  // ret
      32'h3ff20018,  // st64 r15, ram[r12 + 0x18]
      32'h3fc28060,  // st64 r15, port[r0 + 0x60]
      32'h8363202c,  // say ", c"
      32'h8365646f,  // say "ode"
      32'h81000020,  // say " "
      32'h8bc00000,  // dec r15
      32'h83746120,  // say " at"
      32'h81000020,  // say " "
      32'h6400017c,  // call place
      32'h8100000a,  // say "\n"
      32'h68000000,  // ret
      32'h83525245,  // say "ERR"
      32'h833a524f,  // say "OR:"
      32'h836f6e20,  // say " no"
      32'h83696c20,  // say " li"
      32'h82006b6e,  // say "nk"
      32'h03c00001,  // li r15, 1
      32'h64000395,  // call complain
      32'hf8000001,  // fail 1
      32'h83525245,  // say "ERR"
      32'h833a524f,  // say "OR:"
      32'h836f6e20,  // say " no"
      32'h836f7220,  // say " ro"
      32'h8320746f,  // say "ot "
      32'h83726f70,  // say "por"
      32'h81000074,  // say "t"
      32'h03c00002,  // li r15, 2
      32'h64000395,  // call complain
      32'hf8000002,  // fail 2
      32'h83525245,  // say "ERR"
      32'h833a524f,  // say "OR:"
      32'h836f7420,  // say " to"
      32'h836d206f,  // say "o m"
      32'h83796e61,  // say "any"
      32'h83656c20,  // say " le"
      32'h836c6576,  // say "vel"
      32'h836f2073,  // say "s o"
      32'h83622066,  // say "f b"
      32'h83646972,  // say "rid"
      32'h83736567,  // say "ges"
      32'h03c00003,  // li r15, 3
      32'h64000395,  // call complain
      32'hf8000003,  // fail 3
      32'h83525245,  // say "ERR"
      32'h833a524f,  // say "OR:"
      32'h836f7420,  // say " to"
      32'h836d206f,  // say "o m"
      32'h83796e61,  // say "any"
      32'h83756220,  // say " bu"
      32'h83736573,  // say "ses"
      32'h03c00004,  // li r15, 4
      32'h64000395,  // call complain
      32'hf8000004,  // fail 4
      32'h640001ea,  // call lost
      32'h83525245,  // say "ERR"
      32'h833a524f,  // say "OR:"
      32'h836f6e20,  // say " no"
      32'h83726420,  // say " dr"
      32'h83657669,  // say "ive"
      32'h03c00009,  // li r15, 9
      32'h64000395,  // call complain
      32'hf8000009,  // fail 9
      32'h83525245,  // say "ERR"
      32'h833a524f,  // say "OR:"
      32'h83696c20,  // say " li"
      32'h83206b6e,  // say "nk "
      32'h83736f6c,  // say "los"
      32'h81000074,  // say "t"
      32'h03c00016,  // li r15, 22
      32'h64000395,  // call complain
      32'hf8000016,  // fail 22
      32'h83525245,  // say "ERR"
      32'h833a524f,  // say "OR:"
      32'h83726220,  // say " br"
      32'h83676469,  // say "idg"
      32'h83682065,  // say "e h"
      32'h83676e75,  // say "ung"
      32'h03c00018,  // li r15, 24
      32'h64000395,  // call complain
      32'hf8000018,  // fail 24
      32'hfc000000,  // unused
      32'hfc000000,  // unused
      32'hfc000000,  // unused
      32'hfc000000,  // unused
      32'hfc000000,  // unused
      32'hfc000000,  // unused
      32'hfc000000,  // unused
      32'hfc000000,  // unused
      32'hfc000000,  // unused
      32'hfc000000,  // unused
      32'hfc000000,  // unused
      32'hfc000000,  // unused
      32'hfc000000,  // unused
      32'hfc000000,  // unused
      32'hfc000000,  // unused
      32'hfc000000,  // unused
      32'hfc000000,  // unused
      32'hfc000000,  // unused
      32'hfc000000,  // unused
      32'hfc000000,  // unused
      32'hfc000000,  // unused
      32'hfc000000,  // unused
      32'hfc000000,  // unused
      32'hfc000000,  // unused
      32'hfc000000,  // unused
      32'hfc000000,  // unused
      32'hfc000000,  // unused
      32'hfc000000  // unused
  };

endpackage

`default_nettype wire
