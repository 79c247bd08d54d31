// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Ports of the vendor's true dual-port memory macro. Without contents it is a black box for counting;
// for timing (FOREBAY_TIMING) registers stand where the memory has its own, and mix all inputs so
// that none is optimised away.
`ifndef FOREBAY_TIMING
(* blackbox *)
`endif
module xpm_memory_tdpram #(
    parameter ADDR_WIDTH_A = 6,
    parameter ADDR_WIDTH_B = 6,
    parameter AUTO_SLEEP_TIME = 0,
    parameter BYTE_WRITE_WIDTH_A = 32,
    parameter BYTE_WRITE_WIDTH_B = 32,
    parameter CASCADE_HEIGHT = 0,
    parameter CLOCKING_MODE = "common_clock",
    parameter ECC_MODE = "no_ecc",
    parameter MEMORY_INIT_FILE = "none",
    parameter MEMORY_INIT_PARAM = "0",
    parameter MEMORY_OPTIMIZATION = "true",
    parameter MEMORY_PRIMITIVE = "auto",
    parameter MEMORY_SIZE = 2048,
    parameter MESSAGE_CONTROL = 0,
    parameter READ_DATA_WIDTH_A = 32,
    parameter READ_DATA_WIDTH_B = 32,
    parameter READ_LATENCY_A = 2,
    parameter READ_LATENCY_B = 2,
    parameter READ_RESET_VALUE_A = "0",
    parameter READ_RESET_VALUE_B = "0",
    parameter RST_MODE_A = "SYNC",
    parameter RST_MODE_B = "SYNC",
    parameter SIM_ASSERT_CHK = 0,
    parameter USE_EMBEDDED_CONSTRAINT = 0,
    parameter USE_MEM_INIT = 1,
    parameter WAKEUP_TIME = "disable_sleep",
    parameter WRITE_DATA_WIDTH_A = 32,
    parameter WRITE_DATA_WIDTH_B = 32,
    parameter WRITE_MODE_A = "no_change",
    parameter WRITE_MODE_B = "no_change"
) (
    input sleep,
    input clka,
    input clkb,
    input rsta,
    input rstb,
    input ena,
    input enb,
    input regcea,
    input regceb,
    input injectdbiterra,
    input injectdbiterrb,
    input injectsbiterra,
    input injectsbiterrb,
    input [WRITE_DATA_WIDTH_A/BYTE_WRITE_WIDTH_A-1:0] wea,
    input [WRITE_DATA_WIDTH_B/BYTE_WRITE_WIDTH_B-1:0] web,
    input [ADDR_WIDTH_A-1:0] addra,
    input [ADDR_WIDTH_B-1:0] addrb,
    input [WRITE_DATA_WIDTH_A-1:0] dina,
    input [WRITE_DATA_WIDTH_B-1:0] dinb,
    output [READ_DATA_WIDTH_A-1:0] douta,
    output [READ_DATA_WIDTH_B-1:0] doutb,
    output dbiterra,
    output dbiterrb,
    output sbiterra,
    output sbiterrb
);
`ifdef FOREBAY_TIMING
    localparam INPUTS = ADDR_WIDTH_A + ADDR_WIDTH_B + WRITE_DATA_WIDTH_A + WRITE_DATA_WIDTH_B
        + WRITE_DATA_WIDTH_A / BYTE_WRITE_WIDTH_A + WRITE_DATA_WIDTH_B / BYTE_WRITE_WIDTH_B + 6;
    wire [INPUTS-1:0] inputs;
    reg [INPUTS-1:0] inputs_q;
    reg [READ_DATA_WIDTH_A+READ_DATA_WIDTH_B-1:0] outputs_q;
    integer i;

    assign inputs = {dina, dinb, addra, addrb, wea, web, rsta, rstb, ena, enb, regcea, regceb};
    assign {douta, doutb} = outputs_q;
    assign {dbiterra, dbiterrb, sbiterra, sbiterrb} = 4'b0;

    always @(posedge clka) begin
        inputs_q <= inputs;
        for (i = 0; i < READ_DATA_WIDTH_A + READ_DATA_WIDTH_B; i = i + 1)
            outputs_q[i] <= inputs_q[i % INPUTS] ^ inputs_q[(i + INPUTS / 2) % INPUTS];
    end
`endif
endmodule
