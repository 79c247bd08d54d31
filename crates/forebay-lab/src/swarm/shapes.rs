// SPDX-License-Identifier: Apache-2.0
//! The RTL that swarms run on: few shapes, each built once, that differ in what is built in.

use forebay_draw::text::{Grid, or_dash};
use forebay_pipeline::Memory;
use forebay_pipeline::units::bytes;
use forebay_spec::streamer::window;
use serde::Serialize;

use forebay_app::MachineSpec;

/// What is built in. Drives, queue depth and parity may be less at run time.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Shape {
    /// Its name.
    pub name: &'static str,
    /// Where the payload is.
    pub memory: Memory,
    /// Most drives.
    pub drives: u8,
    /// Whether it can hold parity.
    pub parity: bool,
    /// Entries of each queue.
    pub depth: u32,
    /// Pages of the buffer and of the reorder window, on chip.
    pub window: u32,
    /// Channels of on-board DRAM that the RTL knows of.
    pub channels: u32,
}

const fn onchip(name: &'static str, drives: u8, depth: u32, window: u32) -> Shape {
    Shape {
        name,
        memory: Memory::Onchip,
        drives,
        parity: false,
        depth,
        window,
        channels: 1,
    }
}

const fn elsewhere(name: &'static str, memory: Memory, drives: u8, depth: u32) -> Shape {
    Shape {
        memory,
        ..onchip(name, drives, depth, 1024)
    }
}

impl Shape {
    const fn with_parity(self) -> Self {
        Self {
            parity: true,
            ..self
        }
    }

    const fn channels(self, channels: u32) -> Self {
        Self { channels, ..self }
    }

    /// Bytes of the buffer on chip.
    pub fn buffer_bytes(&self) -> Option<u64> {
        let bytes = u64::from(self.window) * window::PAGE_BYTES;
        (self.memory == Memory::Onchip).then_some(bytes)
    }

    /// Its options, with everything that is built in said, so that no other option changes it.
    pub fn machine(&self) -> MachineSpec {
        let mut machine = MachineSpec {
            memory: self.memory,
            ..MachineSpec::default()
        };
        let mut parameters = vec![
            ("QueueDepth", self.depth),
            ("Drives", self.drives.into()),
            ("ParityPages", if self.parity { 16 } else { 0 }),
        ];
        match self.memory {
            Memory::Onchip => {
                machine.buffer_pages = Some(self.window);
                // Little, so that a short case fills more than half of the buffer in one direction.
                parameters.push(("ReservePages", (self.window / 8).min(64)));
            }
            Memory::Dram => parameters.push(("Channels", self.channels)),
            Memory::Host => {}
        }
        let parameters = parameters.into_iter();
        machine.parameters = parameters
            .map(|(name, value)| (name.to_owned(), value.to_string()))
            .collect();
        machine
    }
}

/// All of them.
pub const ALL: [Shape; 12] = [
    onchip("onchip-1", 1, 64, 1024),
    onchip("onchip-small", 1, 4, 16),
    onchip("onchip-large", 2, 16, 4096),
    onchip("onchip-parity", 4, 16, 64).with_parity(),
    onchip("onchip-8", 8, 64, 256),
    elsewhere("dram-1", Memory::Dram, 1, 64),
    elsewhere("dram-channels", Memory::Dram, 2, 32).channels(2),
    elsewhere("dram-parity", Memory::Dram, 4, 16).with_parity(),
    elsewhere("dram-8", Memory::Dram, 8, 64)
        .channels(2)
        .with_parity(),
    elsewhere("host-1", Memory::Host, 1, 64),
    elsewhere("host-parity", Memory::Host, 3, 16).with_parity(),
    elsewhere("host-8", Memory::Host, 8, 64),
];

/// Shapes as a table.
pub fn grid(shapes: &[&Shape]) -> Grid {
    let mut grid = Grid::new(
        "shape | memory | >drives | parity | >queue depth | >window | >buffer | >channels",
    );
    for shape in shapes {
        let onchip = shape.buffer_bytes();
        let only = |shown: bool, text: String| if shown { text } else { "–".to_owned() };
        grid.row([
            shape.name.to_owned(),
            shape.memory.name().to_owned(),
            shape.drives.to_string(),
            if shape.parity { "yes" } else { "no" }.to_owned(),
            shape.depth.to_string(),
            only(onchip.is_some(), shape.window.to_string()),
            or_dash(onchip.map(bytes)),
            only(shape.memory == Memory::Dram, shape.channels.to_string()),
        ]);
    }
    grid
}

/// Reads a name of a shape.
pub fn named(text: &str) -> std::result::Result<&'static Shape, String> {
    ALL.iter().find(|shape| shape.name == text).ok_or_else(|| {
        let names: Vec<_> = ALL.iter().map(|shape| shape.name).collect();
        let names = names.join(", ");
        format!("no shape is named `{text}`; there are: {names}")
    })
}
