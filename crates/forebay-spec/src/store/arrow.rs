// SPDX-License-Identifier: Apache-2.0
//! The two messages of an index in Arrow's IPC format, as flatbuffers: its schema, and the batch that
//! each block is. Tables and numbers are those of Arrow's `Message.fbs` and `Schema.fbs`.

use alloc::vec::Vec;
use flatbuffers::{FlatBufferBuilder, UnionWIPOffset, VOffsetT, WIPOffset};

use super::schema::Kind;

/// A field of a table, by its number in Arrow's files.
const fn slot(number: VOffsetT) -> VOffsetT {
    4 + 2 * number
}

/// Arrow's version of metadata, V5.
const VERSION: i16 = 4;
/// Kinds of messages.
const SCHEMA: u8 = 1;
const BATCH: u8 = 3;

/// A column as Arrow sees it.
#[derive(Clone, Copy, Debug)]
pub struct Field<'n> {
    /// Name.
    pub name: &'n str,
    /// Type of a value.
    pub kind: Kind,
    /// Values of a list, or bytes; 0: one value that is no list.
    pub list: u8,
    /// It may be without a value.
    pub nullable: bool,
}

type Builder<'b> = FlatBufferBuilder<'b>;
type Offset = WIPOffset<flatbuffers::TableFinishedWIPOffset>;

fn table<'b>(builder: &mut Builder<'b>, fill: impl FnOnce(&mut Builder<'b>)) -> Offset {
    let begin = builder.start_table();
    fill(builder);
    builder.end_table(begin)
}

fn message(builder: &mut Builder<'_>, kind: u8, header: Offset, body: i64) -> Vec<u8> {
    let message = table(builder, |builder| {
        builder.push_slot_always(slot(3), body);
        builder.push_slot_always::<WIPOffset<UnionWIPOffset>>(slot(2), header.as_union_value());
        builder.push_slot_always(slot(0), VERSION);
        builder.push_slot_always(slot(1), kind);
    });
    builder.finish_minimal(message);
    let mut bytes = builder.finished_data().to_vec();
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}

/// Number and table of a type.
fn type_of(builder: &mut Builder<'_>, kind: Kind, list: u8) -> (u8, Offset) {
    match kind {
        Kind::Byte => {
            let width = i32::from(list);
            let of = table(builder, |builder| builder.push_slot_always(slot(0), width));
            (15, of)
        }
        Kind::F32 => (
            3,
            table(builder, |builder| builder.push_slot_always(slot(0), 1_i16)),
        ),
        Kind::Time => {
            let zone = builder.create_string("UTC");
            let of = table(builder, |builder| {
                builder.push_slot_always(slot(1), zone);
                builder.push_slot_always(slot(0), 3_i16);
            });
            (10, of)
        }
        _ => {
            let bits = 8 * kind.bytes() as i32;
            (
                2,
                table(builder, |builder| builder.push_slot_always(slot(0), bits)),
            )
        }
    }
}

fn field(builder: &mut Builder<'_>, of: &Field<'_>) -> Offset {
    let listed = of.list > 0 && of.kind != Kind::Byte;
    let mut children = Vec::new();
    if listed {
        let item = Field {
            name: "item",
            list: 0,
            nullable: false,
            ..*of
        };
        children.push(field(builder, &item));
    }
    let children = builder.create_vector(&children);
    let (kind, shape) = match listed {
        true => {
            let length = i32::from(of.list);
            (
                16,
                table(builder, |builder| builder.push_slot_always(slot(0), length)),
            )
        }
        false => type_of(builder, of.kind, of.list),
    };
    let name = builder.create_string(of.name);
    table(builder, |builder| {
        builder.push_slot_always(slot(0), name);
        builder.push_slot_always(slot(3), shape);
        builder.push_slot_always(slot(5), children);
        builder.push_slot_always(slot(1), of.nullable);
        builder.push_slot_always(slot(2), kind);
    })
}

/// The schema message.
#[must_use]
pub fn schema(fields: &[Field<'_>]) -> Vec<u8> {
    let mut builder = Builder::new();
    let fields: Vec<_> = fields.iter().map(|of| field(&mut builder, of)).collect();
    let fields = builder.create_vector(&fields);
    let schema = table(&mut builder, |builder| {
        builder.push_slot_always(slot(1), fields)
    });
    message(&mut builder, SCHEMA, schema, 0)
}

/// The message of a batch: its rows; length and nulls of each of its arrays; place and bytes of each
/// of its buffers, from the first byte behind the message on.
#[must_use]
pub fn batch(rows: u64, nodes: &[[u64; 2]], buffers: &[[u64; 2]], body: u64) -> Vec<u8> {
    let mut builder = Builder::new();
    let buffers = pairs(&mut builder, buffers);
    let nodes = pairs(&mut builder, nodes);
    let batch = table(&mut builder, |builder| {
        builder.push_slot_always(slot(0), rows as i64);
        builder.push_slot_always(slot(1), nodes);
        builder.push_slot_always(slot(2), buffers);
    });
    message(&mut builder, BATCH, batch, body as i64)
}

fn pairs<'b>(
    builder: &mut Builder<'b>,
    all: &[[u64; 2]],
) -> WIPOffset<flatbuffers::Vector<'b, u64>> {
    builder.start_vector::<u64>(2 * all.len());
    for word in all.iter().flatten().rev() {
        builder.push(*word);
    }
    builder.end_vector(all.len())
}
