
local forebay = Proto("fby", "Forebay stream")

local fields = {
    magic = ProtoField.string("fby.magic", "Magic"),
    version = ProtoField.uint8("fby.version", "Version", base.DEC, nil, 0xf0),
    first = ProtoField.bool("fby.first", "First of its object", 8, nil, spec.FRAMING_FIRST),
    last = ProtoField.bool("fby.last", "Last of its object", 8, nil, spec.FRAMING_LAST),
    stream = ProtoField.uint16("fby.stream", "Stream"),
    epoch = ProtoField.uint32("fby.epoch", "Epoch of the sender", base.HEX),
    sequence = ProtoField.uint32("fby.sequence", "Number in its stream"),
    object = ProtoField.uint64("fby.object", "Object"),
    total = ProtoField.uint64("fby.total", "Bytes of the object"),
    offset = ProtoField.uint64("fby.offset", "Offset in the object"),
    payload = ProtoField.bytes("fby.payload", "Payload"),
    missing = ProtoField.uint32("fby.missing", "Frames missing before it"),
    anew = ProtoField.bool("fby.anew", "The sender begins anew"),
}
forebay.fields = fields

local group, severity = expert.group, expert.severity
local notes = {
    gap = ProtoExpert.new("fby.gap", "Frames are missing before it", group.SEQUENCE, severity.WARN),
    behind = ProtoExpert.new("fby.behind", "Late, there before, or old", group.SEQUENCE, severity.WARN),
    flags = ProtoExpert.new("fby.unknown", "Unknown version or flags", group.MALFORMED, severity.ERROR),
}
forebay.experts = notes

-- By stream and sender: epoch, the one before, the number that is due, and what follows the old
-- frame that was refused last. By frame: what came of that, since a frame is looked at more than
-- once, and in any order.
local streams, verdicts = {}, {}

function forebay.init()
    streams, verdicts = {}, {}
end

local MODULUS, HALF = 0x100000000, 0x80000000

-- The rule of the receiver: due is one more than the highest number, modulo 2^32.
local function judge(key, epoch, sequence)
    local known, following = streams[key], (sequence + 1) % MODULUS
    local before = known and (known.epoch == epoch and known.before or known.epoch)
    local anew = { epoch = epoch, before = before, due = following }
    if not known or (epoch ~= known.epoch and epoch ~= known.before) then
        streams[key] = anew
        return { anew = true }
    end
    local ahead = (sequence - known.due) % MODULUS
    if epoch == known.epoch and ahead < HALF then
        known.due, known.again = following, nil
        return { missing = ahead }
    end
    if epoch == known.epoch and ahead >= MODULUS - spec.FRAMING_WINDOW then
        return { behind = true }
    end
    local again = known.again
    if again and again.epoch == epoch and again.sequence == sequence then
        streams[key] = anew
        return { anew = true }
    end
    known.again = { epoch = epoch, sequence = following }
    return { behind = true }
end

local function is_ours(buffer)
    return buffer:len() > spec.FRAMING_BYTES and buffer(0, 4):le_uint() == spec.FRAMING_MAGIC
end

local function is_good(buffer)
    local at = buffer(spec.FRAMING_FLAGS_AT, 1)
    local known = bit32.bor(spec.FRAMING_FIRST, spec.FRAMING_LAST, bit32.lshift(spec.FRAMING_VERSION, 4))
    return at:bitfield(0, 4) == spec.FRAMING_VERSION and bit32.band(at:uint(), bit32.bnot(known)) == 0
        and buffer(spec.FRAMING_RESERVED_AT, 1):uint() == 0
end

local function show_flags(buffer, tree)
    local at = buffer(spec.FRAMING_FLAGS_AT, 1)
    tree:add(fields.version, at)
    tree:add(fields.first, at)
    tree:add(fields.last, at)
    if not is_good(buffer) then
        tree:add_proto_expert_info(notes.flags)
    end
    return bit32.band(at:uint(), spec.FRAMING_FIRST) ~= 0
end

local function show_verdict(verdict, tree)
    if verdict.behind then
        tree:add_proto_expert_info(notes.behind)
    elseif verdict.anew then
        tree:add(fields.anew, true):set_generated()
    else
        tree:add(fields.missing, verdict.missing):set_generated()
        if verdict.missing ~= 0 then
            tree:add_proto_expert_info(notes.gap)
        end
    end
end

function forebay.dissector(buffer, packet, root)
    if not is_ours(buffer) then
        return 0
    end
    local part = function(at, bytes) return buffer(at, bytes) end
    local stream = part(spec.FRAMING_STREAM_AT, 2)
    local epoch = part(spec.FRAMING_EPOCH_AT, 4)
    local sequence = part(spec.FRAMING_SEQUENCE_AT, 4)
    local object = part(spec.FRAMING_OBJECT_AT, 8)
    local place = part(spec.FRAMING_PLACE_AT, 8)
    local payload = buffer(spec.FRAMING_BYTES)
    if not packet.visited and is_good(buffer) then
        local key = tostring(packet.src) .. "/" .. stream:le_uint()
        verdicts[packet.number] = judge(key, epoch:le_uint(), sequence:le_uint())
    end

    packet.cols.protocol = "FBY1"
    local tree = root:add(forebay, buffer(0, spec.FRAMING_BYTES))
    tree:add(fields.magic, part(0, 4))
    local first = show_flags(buffer, tree)
    tree:add_le(fields.stream, stream)
    tree:add_le(fields.epoch, epoch)
    tree:add_le(fields.sequence, sequence)
    tree:add_le(fields.object, object)
    tree:add_le(first and fields.total or fields.offset, place)
    local verdict = verdicts[packet.number]
    if verdict then
        show_verdict(verdict, tree)
    end
    root:add(fields.payload, payload)
    local where = first and "begins, bytes " or "at "
    packet.cols.info = "Object " .. tostring(object:le_uint64()) .. " " .. where ..
        tostring(place:le_uint64()) .. ", payload " .. payload:len() ..
        ", number " .. sequence:le_uint()
    return buffer:len()
end

-- On our port and behind our EtherType; on any other port, where the magic is.
DissectorTable.get("udp.port"):add(spec.UDP_PORT, forebay)
DissectorTable.get("ethertype"):add(spec.ETHERTYPE_FOREBAY, forebay)
forebay:register_heuristic("udp", function(buffer, packet, root)
    return is_ours(buffer) and forebay.dissector(buffer, packet, root) > 0
end)
