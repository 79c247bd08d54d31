// AXI4-Lite front end, one transaction at a time: the register file is read and written a few
// times a second, so what counts is flip-flops. Write data are used from the ports in the cycle in
// which ready is high; the address is held, since it has far to go, and so are read data. Readies
// and valids come from the state alone, so no path leads from an input to an output.
typedef enum logic [2:0] {
    AXIL_IDLE,
    AXIL_TAKE_READ,
    AXIL_TAKE_WRITE,
    AXIL_WAIT,
    AXIL_ANSWER_READ,
    AXIL_ANSWER_WRITE
} axil_state_e;

axil_state_e axil_state_q;
logic axil_read_last_q;  // reads and writes take turns where both wait
logic [{{cpuif.data_width-1}}:0] axil_rdata_q;
logic [{{cpuif.addr_width-1}}:0] axil_addr_q;
logic axil_read_next;
assign axil_read_next = s_axil_arvalid && !(axil_read_last_q && s_axil_awvalid && s_axil_wvalid);

always_ff {{get_always_ff_event(cpuif.reset)}} begin
    if({{get_resetsignal(cpuif.reset)}}) begin
        axil_state_q <= AXIL_IDLE;
        axil_read_last_q <= '0;
    end else begin
        case (axil_state_q)
            AXIL_IDLE: begin
                if(axil_read_next) begin
                    axil_state_q <= AXIL_TAKE_READ;
                end else if(s_axil_awvalid && s_axil_wvalid) begin
                    axil_state_q <= AXIL_TAKE_WRITE;
                end
            end
            AXIL_TAKE_READ: axil_read_last_q <= '1;
            AXIL_TAKE_WRITE: axil_read_last_q <= '0;
            AXIL_ANSWER_READ: if(s_axil_rready) axil_state_q <= AXIL_IDLE;
            AXIL_ANSWER_WRITE: if(s_axil_bready) axil_state_q <= AXIL_IDLE;
            default: axil_state_q <= axil_state_q;
        endcase
        if(axil_state_q inside {AXIL_TAKE_READ, AXIL_TAKE_WRITE, AXIL_WAIT}) begin
            if(cpuif_rd_ack) axil_state_q <= AXIL_ANSWER_READ;
            else if(cpuif_wr_ack) axil_state_q <= AXIL_ANSWER_WRITE;
            else axil_state_q <= AXIL_WAIT;
        end
    end
end

always_ff @(posedge clk) begin
    if(cpuif_rd_ack) axil_rdata_q <= cpuif_rd_data;
    if(axil_state_q == AXIL_IDLE) axil_addr_q <= axil_read_next ? s_axil_araddr : s_axil_awaddr;
end

assign s_axil_arready = axil_state_q == AXIL_TAKE_READ;
assign s_axil_awready = axil_state_q == AXIL_TAKE_WRITE;
assign s_axil_wready = axil_state_q == AXIL_TAKE_WRITE;
assign s_axil_rvalid = axil_state_q == AXIL_ANSWER_READ;
assign s_axil_rdata = axil_rdata_q;
assign s_axil_rresp = 2'b00;
assign s_axil_bvalid = axil_state_q == AXIL_ANSWER_WRITE;
assign s_axil_bresp = 2'b00;

assign cpuif_req = s_axil_arready || s_axil_awready;
assign cpuif_req_is_wr = s_axil_awready;
always_comb begin
    cpuif_addr = axil_addr_q;
    cpuif_addr[{{clog2(cpuif.data_width_bytes)-1}}:0] = '0;
    for(int i = 0; i < {{cpuif.data_width_bytes}}; i++) begin
        cpuif_wr_biten[i*8 +: 8] = {8{s_axil_wstrb[i]}};
    end
end
assign cpuif_wr_data = s_axil_wdata;
