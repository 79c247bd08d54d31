// SPDX-License-Identifier: Apache-2.0
//! Files become objects, and objects files.

use std::fs;

use forebay_store::{Error, Extracted, FileDisk, Files, Node, Packing, Recording, Totals, Tree};

const PACKING: Packing = Packing {
    stream: 3,
    extent_bytes: 1 << 20,
    small: false,
    leave_open: false,
};

#[test]
fn what_is_packed_is_extracted() {
    let folder = tempfile::tempdir().expect("a folder");
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    fs::create_dir_all(from.join("left out")).expect("made");
    assert!(matches!(Files::of(&from), Err(Error::Setting { .. })));
    let contents: [&[u8]; 3] = [b"one", &[7; 5000], b""];
    for (name, content) in ["a", "b", "c"].iter().zip(contents) {
        fs::write(from.join(name), content).expect("written");
    }
    let image = folder.path().join("a.img");
    let files = Files::of(&from).expect("files");
    assert_eq!(files.bytes(), 5003);
    let disk = files.image(&image, &PACKING).expect("a new image");
    assert!(matches!(
        files.image(&image, &PACKING),
        Err(Error::File { .. })
    ));
    let packed = files.pack(&disk, &PACKING, &mut |_| true).expect("packed");
    assert_eq!(
        (packed.objects, packed.bytes, packed.closed),
        (3, 5003, true)
    );

    let disk = FileDisk::open(&image).expect("it is there");
    let recording = Recording::open(&disk).expect("a recording");
    let totals = Totals::of(&recording);
    assert_eq!(
        (totals.whole, totals.bytes, totals.damaged_blocks),
        (3, 5003, 0)
    );
    let extracted = recording
        .extract(&to, None, &mut |_| true)
        .expect("extracted");
    let expected = Extracted {
        files: 3,
        bytes: 5003,
        ..Extracted::default()
    };
    assert_eq!(extracted, expected);
    let tree = Tree::new(&recording, true);
    let stream = tree.find(Node::Root, "00003").expect("the stream");
    for (number, content) in contents.iter().enumerate() {
        let name = format!("{number:020}.bin");
        assert_eq!(
            fs::read(to.join("00003").join(&name)).expect("there"),
            *content
        );
        let node = tree.find(stream, &name).expect("there");
        assert_eq!(tree.read(node, 0, 10_000).expect("read"), *content);
    }
    // What is there already is not written over.
    assert!(recording.extract(&to, None, &mut |_| true).is_err());
}

#[test]
fn an_object_that_there_is_not_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let from = folder.path().join("from");
    fs::create_dir(&from).expect("made");
    fs::write(from.join("a"), b"one").expect("written");
    let files = Files::of(&from).expect("files");
    let disk = files
        .image(&folder.path().join("a.img"), &PACKING)
        .expect("a new image");
    files.pack(&disk, &PACKING, &mut |_| true).expect("packed");
    let recording = Recording::open(&disk).expect("a recording");
    let rows = recording.object(0, Some(3)).expect("there");
    let mut bytes = Vec::new();
    let complaints = recording.write_object(&rows, &mut bytes).expect("a vector");
    assert_eq!((bytes.as_slice(), complaints.len()), (&b"one"[..], 0));
    for (object, stream) in [(1, None), (0, Some(4))] {
        let error = recording.object(object, stream).expect_err("not there");
        assert!(
            error.to_string().contains("there is no such object"),
            "{error}"
        );
    }
}
