// SPDX-License-Identifier: Apache-2.0
//! Captures, pcap and pcapng: frames that can be sent, then an end or a refusal.
#![no_main]

use std::io::Cursor;

use forebay_net::pcap::Capture;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: Vec<u8>| {
    let Ok(mut capture) = Capture::from_reader(Cursor::new(bytes), "x".as_ref()) else {
        return;
    };
    let mut before = 0;
    for packet in capture.by_ref().flatten() {
        assert!(before <= packet.time, "time runs backwards");
        assert!((60..=forebay_net::MOST_BYTES).contains(&packet.frame.len()));
        before = packet.time;
    }
});
