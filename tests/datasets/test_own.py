from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from dissensus.base.errors import InputError
from dissensus.datasets import own_data, own_items
from dissensus.votes import Votes

NAMES = ["dora", "anna", "carl", "bert", "emil"]
ORDER = [3, 0, 4, 1, 2]  # the inputs lie in another order than the votes


def votes_on(items):
    return Votes.from_counts([[2, 1]] * (len(items) - 1) + [[0, 3]], classes=["cat", "dog"], items=items)


@pytest.fixture
def votes():
    return votes_on(NAMES)


FEATURES = np.array([[number, -number] for number in range(5)], float)  # feature 0 is the item's place in the votes


def write_npz(path, ids, inputs):
    np.savez(path, inputs=inputs, ids=ids)
    return path


def assert_aligned(data, items=NAMES):
    assert data.votes.items.tolist() == list(items)
    assert data.inputs.dtype == np.float32
    np.testing.assert_array_equal(data.inputs, FEATURES)


# -- by id, whatever the order


def test_npz(votes, tmp_path):
    data = own_data(votes, write_npz(tmp_path / "x.npz", np.array(NAMES)[ORDER], FEATURES[ORDER]))
    assert_aligned(data)
    assert (data.name, data.labels, data.truth, data.images) == ("own", None, None, False)


def test_npz_with_numbers_as_ids(tmp_path):
    ids = np.array([70, 10, 30, 20, 90])
    assert_aligned(own_data(votes_on(ids), write_npz(tmp_path / "x.npz", ids[ORDER], FEATURES[ORDER])), ids)


def test_npy_rows_are_known_by_their_numbers(tmp_path):
    np.save(tmp_path / "x.npy", FEATURES)
    data = own_data(votes_on(ORDER), tmp_path / "x.npy")
    assert data.votes.items.tolist() == ORDER
    np.testing.assert_array_equal(data.inputs[:, 0], ORDER)


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
@pytest.mark.parametrize("column", [None, "who"])
def test_tables(votes, tmp_path, ending, column):
    frame = pl.DataFrame({"who": NAMES, "a": FEATURES[:, 0], "b": FEATURES[:, 1].astype(int)})[ORDER]
    frame = frame if column is None else frame.select("a", "who", "b")
    path = tmp_path / f"x.{ending}"
    if ending == "parquet":
        frame.write_parquet(path)
    else:
        frame.write_csv(path, separator="\t" if ending == "tsv" else ",")
    assert_aligned(own_data(votes, path, ids=column))


def test_ids_in_text_tables_are_taken_as_written(tmp_path):
    names = ["007", "7", "1e3", "0", "nan"]
    path = tmp_path / "x.csv"
    path.write_text("id,a,b\n" + "".join(f"{names[i]},{i},{-i}\n" for i in ORDER))
    assert_aligned(own_data(votes_on(names), path), names)


def test_votes_of_which_no_item_has_two_are_told_of(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(3))
    single = own_data(Votes.from_counts([[1, 0], [0, 1], [1, 0]]), tmp_path / "x.npy")
    assert single.votes.notes[-1].startswith("No item has two votes, so soft labels, SLS, multipass and the majority")
    assert not own_data(Votes.from_counts([[1, 0], [0, 1], [1, 1]]), tmp_path / "x.npy").votes.notes


def test_votes_from_a_file(tmp_path):
    lines = [f"{name},{who},{'dog' if name == 'emil' else 'cat'}" for name in NAMES for who in ("x", "y")]
    (tmp_path / "votes.csv").write_text("item,annotator,label\n" + "\n".join(lines) + "\n")
    data = own_data(tmp_path / "votes.csv", write_npz(tmp_path / "x.npz", np.array(NAMES)[ORDER], FEATURES[ORDER]))
    assert_aligned(data)
    assert data.votes.classes == ("cat", "dog")
    assert data.votes.n_votes == 10


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float16, np.bool_])
def test_features_of_any_number_type_become_float32(votes, tmp_path, dtype):
    values = np.arange(10).reshape(5, 2).astype(dtype)
    data = own_data(votes, write_npz(tmp_path / "x.npz", NAMES, values))
    assert data.inputs.dtype == np.float32
    np.testing.assert_array_equal(data.inputs, values)


# -- images in arrays


@pytest.mark.parametrize(("shape", "axes"), [((5, 8, 6, 3), (0, 3, 1, 2)), ((5, 3, 8, 6), (0, 1, 2, 3))])
def test_channels_first_or_last(votes, tmp_path, shape, axes):
    images = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    data = own_data(votes, write_npz(tmp_path / "x.npz", NAMES, images))
    assert data.images
    np.testing.assert_array_equal(data.inputs, images.transpose(axes))


def test_grey_images_get_a_channel(votes, tmp_path):
    assert own_data(votes, write_npz(tmp_path / "x.npz", NAMES, np.zeros((5, 8, 6), np.uint8))).inputs.shape == (
        5,
        1,
        8,
        6,
    )


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (np.zeros((5, 3, 8, 3), np.uint8), "the channels .* could be the second or the last axis"),
        (np.zeros((5, 7, 8, 9), np.uint8), "could be no axis"),
        (np.zeros((5, 8, 6, 3)), r"must be uint8, 0 to 255, .* but are float64 \(5, 8, 6, 3\)"),
        (np.full((5, 8, 6), 0.5, np.float32), r"between 0 and 1: multiply by 255, as in \(255 \* images\)\.round\(\)"),
        (np.full((5, 8, 6), 200), r"between 0 and 255: images\.round\(\)\.astype\(np\.uint8\) will do"),
        (np.linspace(-1, 2, 240).reshape(5, 8, 6), "They lie between -1 and 2; undo what was done to them"),
        (np.full((5, 8, 6), np.nan), "Some are not finite"),
        (np.zeros((5, 8, 6), "datetime64[s]"), r"but are datetime64\[s\] \(5, 8, 6\)\.$"),
        (np.zeros(5), r"must be features, .* but are float64 \(5,\)"),
        (np.zeros((5, 0)), r"but are float64 \(5, 0\)"),
        (np.array([["a"]] * 5), "but are <U1"),
        (np.zeros((4, 2)), "has 5 ids for 4 inputs"),
    ],
)
def test_arrays_that_are_neither_features_nor_images(votes, tmp_path, inputs, message):
    with pytest.raises(InputError, match=message):
        own_data(votes, write_npz(tmp_path / "x.npz", NAMES, inputs))


def test_a_table_as_spreadsheets_write_it_where_commas_are_decimal(votes, tmp_path):
    rows = "".join(
        f"{name};{a:g};{b:g}\n".replace(".", ",") for name, (a, b) in zip(NAMES, FEATURES + 0.5, strict=True)
    )
    (tmp_path / "x.csv").write_text("id;a;b\n" + rows, encoding="utf-8-sig")
    plain = own_data(votes, write_npz(tmp_path / "x.npz", NAMES, FEATURES + 0.5))
    np.testing.assert_array_equal(own_data(votes, tmp_path / "x.csv").inputs, plain.inputs)
    (tmp_path / "x.csv").write_text(("id;a;b\n" + rows).replace(",", "."))
    np.testing.assert_array_equal(own_data(votes, tmp_path / "x.csv").inputs, plain.inputs)


@pytest.mark.parametrize("delimiter", ["\t", "|"])
def test_columns_end_where_the_header_says(votes, tmp_path, delimiter):
    rows = [("id", "a", "b"), *((name, *row) for name, row in zip(NAMES, FEATURES.tolist(), strict=True))]
    (tmp_path / "x.csv").write_text("\n".join(delimiter.join(map(str, row)) for row in rows))
    plain = own_data(votes, write_npz(tmp_path / "x.npz", NAMES, FEATURES))
    np.testing.assert_array_equal(own_data(votes, tmp_path / "x.csv").inputs, plain.inputs)


def test_a_header_that_can_be_cut_in_two_ways_is_told(votes, tmp_path):
    (tmp_path / "x.csv").write_text("id;a|b\nanna;1|2\n")
    with pytest.raises(InputError, match=r"x.csv can be cut at ';' or '\|'; write it with one of them alone\.$"):
        own_data(votes, tmp_path / "x.csv")


# -- ids that do not match


def test_an_item_without_an_input(votes, tmp_path):
    path = write_npz(tmp_path / "x.npz", NAMES[:4], FEATURES[:4])
    with pytest.raises(
        InputError, match=r"^item 'emil' has votes but no input in .*x.npz\. Add the inputs; .* with others"
    ):
        own_data(votes, path)


def test_votes_without_an_input_are_left_out_where_that_is_said(votes, tmp_path):
    path = write_npz(tmp_path / "x.npz", ["fred", *NAMES[2:]], FEATURES[1:])
    data = own_data(votes, path, others="drop")
    assert data.votes.items.tolist() == NAMES[2:]
    np.testing.assert_array_equal(data.inputs, FEATURES[2:])
    assert data.votes.notes == (
        "Items without inputs are left out: 2 of 5 (first: 'dora').",
        "Inputs without votes are left out: 1 of 4 (first: 'fred').",
    )
    fewer = own_data(votes.take([2, 3, 4]), write_npz(tmp_path / "fewer.npz", NAMES[2:], FEATURES[2:]))
    assert data.digest() == fewer.digest()  # a run is that of what is left, however the rest was left out
    whole = write_npz(tmp_path / "whole.npz", NAMES, FEATURES)
    assert own_data(votes, whole, others="drop").digest() == own_data(votes, whole).digest() != data.digest()


def test_what_is_left_of_the_votes_must_be_enough(votes, tmp_path):
    with pytest.raises(
        InputError, match=r"votes on 1 items for 2 classes, .* Items without inputs are left out: 4 of 5"
    ):
        own_data(votes, write_npz(tmp_path / "x.npz", NAMES[4:], FEATURES[4:]), others="drop")
    with pytest.raises(InputError, match="No id is in both") as caught:
        own_data(votes, write_npz(tmp_path / "x.npz", ["fred"], FEATURES[:1]), others="drop")
    assert "drop" not in str(caught.value)
    two = Votes.from_counts([[1, 1], [1, 0], [0, 1]], items=NAMES[:3])
    data = own_data(two, write_npz(tmp_path / "x.npz", NAMES[1:3], FEATURES[1:3]), others="drop")
    assert data.votes.notes[-1].startswith("No item has two votes")


def test_a_misspelt_word_leaves_nothing_out(votes, tmp_path):
    with pytest.raises(InputError, match='others must be "error" or "drop", but it is \'dorp\''):
        own_data(votes, tmp_path / "x.npz", others="dorp")


def test_inputs_without_votes_are_left_out_and_told(votes, tmp_path):
    path = write_npz(tmp_path / "x.npz", ["fred", *NAMES, "gina"], np.vstack([[9, 9], FEATURES, [8, 8]]))
    data = own_data(votes, path)
    assert data.votes.notes == ("Inputs without votes are left out: 2 of 7 (first: 'fred').",)
    whole = own_data(votes, write_npz(tmp_path / "whole.npz", NAMES, FEATURES))
    np.testing.assert_array_equal(data.inputs, whole.inputs)


def test_rows_without_ids_are_as_many_as_the_items(tmp_path):
    np.save(tmp_path / "x.npy", FEATURES)
    with pytest.raises(InputError, match=r"^row '4' has no votes, and the rows of .*x.npy have no ids .* np.savez"):
        own_data(votes_on([0, 1, 2, 3]), tmp_path / "x.npy")
    assert len(own_data(votes_on(range(7)), tmp_path / "x.npy", others="drop")) == 5
    with pytest.raises(InputError, match=r"^row '0' has no votes"):  # counted from 1
        own_data(votes_on(range(1, 8)), tmp_path / "x.npy", others="drop")


def test_ids_of_another_kind_altogether(votes, tmp_path):
    path = write_npz(tmp_path / "x.npz", [name.upper() for name in NAMES], FEATURES)
    with pytest.raises(InputError) as caught:
        own_data(votes, path)
    message = str(caught.value)
    assert "5 items ('dora', 'anna', 'carl', ...) have votes but no input" in message
    assert "5 inputs ('DORA', 'ANNA', 'CARL', ...) have no votes" in message
    assert "No id is in both: are they written in the same way, and the right ones?" in message
    assert message.endswith("name it with item=...")


def test_ids_of_another_column(votes, tmp_path):
    (tmp_path / "x.csv").write_text("nr,a\n1,0.5\n2,1.5\n")
    with pytest.raises(InputError, match=r"those of the votes and that .* are named with item=\.\.\. and ids=\.\.\.$"):
        own_data(votes, tmp_path / "x.csv")


def test_an_id_twice(votes, tmp_path):
    path = write_npz(tmp_path / "x.npz", ["anna", "bert", "bert", "anna", "carl"], FEATURES)
    with pytest.raises(InputError, match=r"in .*x.npz 2 ids \('anna', 'bert'\) occur more than once"):
        own_data(votes, path)


def test_rows_counted_from_1(tmp_path):
    np.save(tmp_path / "x.npy", FEATURES)
    with pytest.raises(InputError, match=r"item '5' has votes but no input .* input '0' has no votes"):
        own_data(votes_on([1, 2, 3, 4, 5]), tmp_path / "x.npy")


def test_rows_without_ids_for_votes_on_names(votes, tmp_path):
    np.save(tmp_path / "x.npy", FEATURES)
    with pytest.raises(InputError, match=r"has no ids, .* Write inputs and ids together: np.savez"):
        own_data(votes, tmp_path / "x.npy")


def test_numbers_that_only_look_like_row_numbers(tmp_path):
    np.save(tmp_path / "x.npy", FEATURES)
    with pytest.raises(InputError, match="has no ids"):
        own_data(votes_on(["00", "01", "02", "03", "04"]), tmp_path / "x.npy")


# -- files that cannot be used


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300])
def test_a_gap_in_the_features(votes, tmp_path, bad):
    values = FEATURES[ORDER].copy()
    values[2, 1] = bad
    with pytest.raises(
        InputError, match=r"row 2 of .*x.npz \(item 'emil'\), feature 1, is .* \(1 of 5 rows are wrong\)"
    ):
        own_data(votes, write_npz(tmp_path / "x.npz", np.array(NAMES)[ORDER], values))


def test_a_gap_in_features_that_are_left_out_is_no_fault(votes, tmp_path):
    path = write_npz(tmp_path / "x.npz", [*NAMES, "fred"], np.vstack([FEATURES, [np.nan, 1]]))
    assert_aligned(own_data(votes, path))


def test_an_empty_cell_in_a_table(votes, tmp_path):
    (tmp_path / "x.csv").write_text("id,a,b\n" + "".join(f"{name},1,{'' if name == 'carl' else 2}\n" for name in NAMES))
    with pytest.raises(InputError, match=r"row 2 of .*x.csv \(item 'carl'\), feature 1, is nan"):
        own_data(votes, tmp_path / "x.csv")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,a\ndora,red\n", "must hold numbers, but column 'a' holds String"),
        ("id,text\ndora,hello\n", "A table of texts belongs to texts, not to inputs."),
        ("id\ndora\n", "there is no other column"),
        ("id,a\n,1\n", "row 0 of .*x.csv has no id in column 'id'"),
        ("id,a\ndora,1,2,3\n", "cannot be read as a table"),
    ],
)
def test_tables_that_cannot_be_used(votes, tmp_path, text, message):
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        own_data(votes, tmp_path / "x.csv")


def test_a_column_that_is_not_there(votes, tmp_path):
    (tmp_path / "x.csv").write_text("id,a\ndora,1\n")
    with pytest.raises(InputError, match=r"has no column 'name' for the ids; its columns are id, a"):
        own_data(votes, tmp_path / "x.csv", ids="name")


def test_fractions_are_no_ids(votes, tmp_path):
    pl.DataFrame({"a": [0.5, 1.5], "b": [1, 2]}).write_parquet(tmp_path / "x.parquet")
    with pytest.raises(InputError, match=r"ids in .* must be whole numbers or texts, but column 'a' holds Float64"):
        own_data(votes, tmp_path / "x.parquet")


def test_pickles_are_not_opened(votes, tmp_path):
    np.save(tmp_path / "x.npy", np.array([{"a": 1}], object), allow_pickle=True)
    with pytest.raises(InputError, match="unpickling them can run any code"):
        own_data(votes_on([0, 1, 2, 3, 4]), tmp_path / "x.npy")
    np.savez(tmp_path / "x.npz", inputs=FEATURES, ids=np.array(NAMES, object), allow_pickle=True)
    with pytest.raises(InputError, match="unpickling them can run any code"):
        own_data(votes, tmp_path / "x.npz")


def test_an_npz_of_other_arrays(votes, tmp_path):
    np.savez(tmp_path / "x.npz", x=FEATURES)
    with pytest.raises(InputError, match="must hold the arrays 'inputs' and 'ids', but holds 'x'"):
        own_data(votes, tmp_path / "x.npz")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.npz", b"PK\x03\x04 cut off", "is damaged or was cut off .* Copy or write it again"),
        ("x.npy", b"a,b\n1,2\n", "is no array, though its name ends like that of one"),
        ("x.npy", b"", "is empty"),
        ("x.parquet", b"PAR1", "cannot be read as a table"),
        ("x.pkl", b"1", r"ends in '.pkl', but inputs are read from .npz, .npy"),
    ],
)
def test_broken_and_unknown_files(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        own_data(votes_on([0, 1, 2, 3, 4]), tmp_path / name)


@pytest.mark.parametrize("name", ["x.npy", "x.npz", "packed.npz"])
@pytest.mark.parametrize("kept", [0.01, 0.5, 0.99])
def test_of_a_file_that_was_cut_off_nothing_is_said_of_objects(tmp_path, name, kept):
    write = {"x.npy": np.save, "x.npz": np.savez, "packed.npz": np.savez_compressed}[name]
    write(tmp_path / name, np.arange(1000.0).reshape(5, 200))
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[: max(8, int(kept * len(whole)))])
    with pytest.raises(InputError, match="is damaged or was cut off") as told:
        own_data(votes_on([0, 1, 2, 3, 4]), tmp_path / name)
    assert "object" not in str(told.value)


@pytest.mark.parametrize("byte", [b"(", b"\xff"])  # a header that cannot be parsed, and data that cannot be unpacked
def test_a_damaged_byte_is_told_of(tmp_path, byte):
    np.save(tmp_path / "x.npy", FEATURES)
    np.savez_compressed(tmp_path / "x.npz", inputs=np.arange(1000.0), ids=np.arange(1000))
    name, at = ("x.npy", 70) if byte == b"(" else ("x.npz", 60)
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[:at] + byte + whole[at + 1 :])
    with pytest.raises(InputError, match="is damaged or was cut off"):
        own_data(votes_on([0, 1, 2, 3, 4]), tmp_path / name)


def test_nothing_there(votes, tmp_path):
    with pytest.raises(InputError, match="does not exist; a file of inputs, or a folder of images, was expected"):
        own_data(votes, tmp_path / "x.npz")


def test_options_that_do_not_apply(votes, tmp_path):
    path = write_npz(tmp_path / "x.npz", NAMES, FEATURES)
    with pytest.raises(InputError, match="names a column of a table"):
        own_data(votes, path, ids="id")
    with pytest.raises(InputError, match="is for folders of images"):
        own_data(votes, path, size=(8, 8))
    with pytest.raises(InputError, match="its file names are the ids"):
        own_data(votes, tmp_path, ids="id")


# -- votes that cannot be learned from


def test_fewer_items_than_classes(tmp_path):
    votes = Votes.from_counts(np.eye(3, dtype=int)[:2], items=["a", "b"])
    with pytest.raises(InputError, match="votes on 2 items for 3 classes"):
        own_data(votes, tmp_path / "x.npz")


def test_one_class_only(tmp_path):
    with pytest.raises(InputError, match="all votes are for 'cat'; at least two classes"):
        own_data(Votes.from_counts([[2, 0], [1, 0]], classes=["cat", "dog"]), tmp_path / "x.npz")


def test_votes_that_name_no_class(tmp_path):
    votes = Votes.from_records(items=[0, 1, 2], labels=[[], [], []], classes=["cat", "dog"])
    with pytest.raises(InputError, match="all votes are for no class"):
        own_data(votes, tmp_path / "x.npz")


@pytest.mark.parametrize("there", [NAMES, NAMES[1:]])
def test_items_without_votes_are_left_out_whether_their_inputs_are_there_or_not(there, tmp_path):
    votes = Votes.from_counts([[0, 0], [2, 1], [1, 2], [0, 3], [3, 0]], items=NAMES)
    data = own_data(votes, write_npz(tmp_path / "x.npz", there, FEATURES[-len(there) :]))
    assert data.votes.items.tolist() == NAMES[1:]
    assert data.votes.notes == ("Items without votes are left out: 1 of 5.",)
    np.testing.assert_array_equal(data.inputs, FEATURES[1:])


def test_an_item_without_votes_in_a_table_that_holds_its_text(tmp_path):
    file = tmp_path / "labels.csv"
    file.write_text("item,text,label\na,one,x\na,one,y\nb,two,\nc,three,x\nc,three,\n")
    data = own_data(file, texts=file)
    assert data.votes.items.tolist() == ["a", "c"]
    assert data.votes.notes[-1] == "Items without votes are left out: 1 of 3."


def test_no_votes_at_all(tmp_path):
    with pytest.raises(InputError, match="votes on 0 items for 2 classes"):
        own_data(Votes.from_counts([[0, 0], [0, 0]]), tmp_path / "x.npz")


def test_what_is_odd_in_the_votes_is_told_with_the_error(tmp_path):
    file = tmp_path / "labels.csv"
    file.write_text("item,comment,ann,bob\na,one,x,y\nb,two,x,x\nc,three,y,x\n")
    with pytest.raises(InputError, match=r"wrong column read as labels\? No label in the column 'comment'"):
        own_data(file, texts=file, text="comment")


def test_how_to_read_votes_that_are_read_already_is_no_question(tmp_path):
    np.savez(tmp_path / "x.npz", inputs=FEATURES[:2], ids=["a", "b"])
    with pytest.raises(InputError, match="lable say how to read a votes file, but votes that are read were given"):
        own_data(Votes.from_counts([[2, 1], [0, 3]], items=["a", "b"]), tmp_path / "x.npz", lable="answer")


# -- items that nobody voted on


def test_items_come_in_the_order_of_their_file(tmp_path):
    ids, inputs = own_items(write_npz(tmp_path / "x.npz", np.array(NAMES)[ORDER], FEATURES[ORDER]))
    assert ids == [NAMES[place] for place in ORDER]
    assert inputs.dtype == np.float32
    np.testing.assert_array_equal(inputs, FEATURES[ORDER])
    np.save(tmp_path / "x.npy", FEATURES)
    assert own_items(tmp_path / "x.npy")[0] == ["0", "1", "2", "3", "4"]
    (tmp_path / "x.csv").write_text("size,who\n1.5,007\n2.5,7\n")
    ids, inputs = own_items(tmp_path / "x.csv", ids="who")
    assert (ids, inputs.tolist()) == (["007", "7"], [[1.5], [2.5]])


def test_items_of_texts(tmp_path):
    (tmp_path / "x.csv").write_text("key;first;second\nb;a man;a dog\na;a cat;an eel\n")
    ids, texts = own_items(texts=tmp_path / "x.csv", ids="key", text="first", text_pair="second")
    assert (ids, texts.first, texts.second) == (["b", "a"], ("a man", "a cat"), ("a dog", "an eel"))
    votes = "item,annotator,label,text\n1,x,cat,a man\n1,y,dog,a man\n2,x,cat,a cat\n"
    (tmp_path / "votes.csv").write_text(votes)
    assert own_items(texts=tmp_path / "votes.csv")[0] == ["1", "2"]
    (tmp_path / "x.csv").write_text("words\na man\na man\n")
    assert own_items(texts=tmp_path / "x.csv", text="words")[0] == ["0", "1"]


def test_items_of_a_folder_of_images(tmp_path):
    image = pytest.importorskip("PIL.Image")
    for name in ("b.png", "a.bmp"):
        image.fromarray(np.full((4, 6), 9, np.uint8)).save(tmp_path / name)
    ids, images = own_items(tmp_path, size=(2, 3))
    assert (ids, images.shape) == (["a", "b"], (2, 1, 2, 3))
    assert own_items(tmp_path, endings=True)[0] == ["a.bmp", "b.png"]
    image.fromarray(np.full((4, 6), 9, np.uint8)).save(tmp_path / "a.png")
    with pytest.raises(InputError, match=r"^a.bmp and a.png in .* would both be 'a'; .* with endings=True"):
        own_items(tmp_path)
    assert len(own_items(tmp_path, endings=True)[0]) == 3
    (tmp_path / "cats").mkdir()
    (tmp_path / "a.png").rename(tmp_path / "cats" / "a.png")
    assert own_items(tmp_path)[0] == ["a", "b", "cats/a"]


def test_items_are_given_in_one_way_and_with_options_of_that(tmp_path):
    with pytest.raises(InputError, match="new items are inputs or texts: give one of the two"):
        own_items()
    with pytest.raises(InputError, match="give one of the two"):
        own_items("x.npy", texts="x.csv")
    with pytest.raises(InputError, match=r"is for folders of images, but x\.csv is a table of texts"):
        own_items(texts="x.csv", size=(2, 2))
    with pytest.raises(InputError, match="text, text_pair and group name columns of a table of texts"):
        own_items("x.npy", text="words")
    with pytest.raises(InputError, match="is a folder: its file names are the ids"):
        own_items(tmp_path, ids="name")
    with pytest.raises(InputError, match=r"endings are those of images in a folder, but x\.npy is none"):
        own_items("x.npy", endings=True)
    with pytest.raises(InputError, match="ids must be unique"):
        own_items(write_npz(tmp_path / "x.npz", ["a", "a"], FEATURES[:2]))
    np.save(tmp_path / "x.npy", [[1.0], [np.nan]])
    with pytest.raises(InputError, match=r"Fill the gaps or leave those items out; rows and features count from 0\.$"):
        own_items(tmp_path / "x.npy")
