use super::*;
use crate::io::decode::{Endian, Kind};

fn build(shape: (usize, usize), order: Order, values: &[f64]) -> Parsed<Array> {
    let number = Number { kind: Kind::F64, endian: Endian::Little };
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    let budget = &mut Budget::of(1 << 16);
    let mut builder = ArrayBuilder::new("x", shape, order, budget)?;
    // Not a divisor of any line, so that pieces and lines end at different places.
    bytes.chunks(3 * 8).try_for_each(|piece| builder.push(number, piece))?;
    builder.finish().map(|a| a.array)
}

fn sparse(shape: (usize, usize), index: SparseIndex, values: &[f64]) -> Parsed<Array> {
    let budget = &mut Budget::of(1 << 16);
    let sparse = Sparse { shape, index, values: values.to_vec(), logical: false };
    NamedArray::from_sparse("x", sparse, budget).map(|a| a.array)
}

fn triplets(rows: usize, cols: usize, entries: &[(u32, u32, f32)]) -> Array {
    Array::Matrix(Matrix::Sparse(Csr::from_triplets(rows, cols, entries.to_vec()).unwrap()))
}

#[test]
fn both_orders_give_the_same_matrix() {
    let expected = triplets(3, 3, &[(0, 1, 5.0), (1, 0, 7.0), (2, 2, -1.0)]);
    let rows = [0.0, 5.0, 0.0, 7.0, 0.0, 0.0, 0.0, 0.0, -1.0];
    let columns = [0.0, 7.0, 0.0, 5.0, 0.0, 0.0, 0.0, 0.0, -1.0];
    assert_eq!(build((3, 3), Order::RowMajor, &rows).unwrap(), expected);
    assert_eq!(build((3, 3), Order::ColumnMajor, &columns).unwrap(), expected);
}

#[test]
fn full_matrices_are_dense_unless_square() {
    let dense = |values: &[f32]| {
        Array::Matrix(Matrix::Dense(Dense::from_vec(2, 3, values.to_vec()).unwrap()))
    };
    let rows = [1.0, 0.0, 3.0, 4.0, 5.0, 0.0];
    let columns = [1.0, 4.0, 0.0, 5.0, 3.0, 0.0];
    assert_eq!(build((2, 3), Order::RowMajor, &rows).unwrap(), dense(&[1., 0., 3., 4., 5., 0.]));
    assert_eq!(
        build((2, 3), Order::ColumnMajor, &columns).unwrap(),
        dense(&[1., 0., 3., 4., 5., 0.])
    );
    let coo = SparseIndex::Coo { row: vec![1, 0, 1], col: vec![2, 0, 1] };
    assert_eq!(sparse((2, 3), coo, &[6., 1., 5.]).unwrap(), dense(&[1., 0., 0., 0., 5., 6.]));
    let ones = build((2, 2), Order::RowMajor, &[1.0; 4]).unwrap();
    assert_eq!(ones, triplets(2, 2, &[(0, 0, 1.), (0, 1, 1.), (1, 0, 1.), (1, 1, 1.)]));
    // 2 of 8 is not above a quarter.
    let quarter = build((2, 4), Order::RowMajor, &[1., 0., 0., 0., 0., 0., 0., 2.]).unwrap();
    assert_eq!(quarter, triplets(2, 4, &[(0, 0, 1.), (1, 3, 2.)]));
}

#[test]
fn vectors_keep_f64_and_shape() {
    let big = 9_007_199_254_740_991.0;
    let vector = |values: &[f64], shape| Array::Vector { values: values.to_vec(), shape };
    assert_eq!(
        build((1, 2), Order::ColumnMajor, &[big, 0.0]).unwrap(),
        vector(&[big, 0.0], (1, 2))
    );
    assert_eq!(build((0, 7), Order::RowMajor, &[]).unwrap(), vector(&[], (0, 7)));
    let csc = SparseIndex::Csc { indptr: vec![0, 2], indices: vec![2, 0] };
    assert_eq!(sparse((3, 1), csc, &[big, 1.0]).unwrap(), vector(&[1.0, 0.0, big], (3, 1)));
}

#[test]
fn values_that_do_not_fit_are_refused() {
    let error = build((2, 2), Order::ColumnMajor, &[0.0, 0.0, 1e300, 0.0]).unwrap_err();
    assert!(error.message.contains("`x`: 1e300 at row 0, column 1"), "{error}");
    let Array::Matrix(passed) =
        build((2, 2), Order::RowMajor, &[0.0, f64::NAN, f64::INFINITY, 1e-300]).unwrap()
    else {
        panic!("a matrix was expected")
    };
    assert_eq!(passed.nonzeros(), 2);
    assert!(build((2, 2), Order::RowMajor, &[0.0; 3]).unwrap_err().message.contains("3 values"));
    assert!(build((2, 2), Order::RowMajor, &[0.0; 5]).unwrap_err().message.contains("more values"));
    assert!(build((1 << 33, 2), Order::RowMajor, &[]).is_err());
    assert!(build((usize::MAX, 2), Order::RowMajor, &[]).is_err());
}

#[test]
fn sparse_formats_agree_sort_sum_and_drop_zeros() {
    let expected = triplets(3, 3, &[(0, 0, 1.0), (0, 2, 5.0), (2, 1, 4.0)]);
    let csr = SparseIndex::Csr { indptr: vec![0, 3, 4, 5], indices: vec![2, 0, 2, 1, 1] };
    assert_eq!(sparse((3, 3), csr, &[2.0, 1.0, 3.0, 0.0, 4.0]).unwrap(), expected);
    let csc = SparseIndex::Csc { indptr: vec![0, 1, 2, 4], indices: vec![0, 2, 0, 0, 77] };
    assert_eq!(sparse((3, 3), csc, &[1.0, 4.0, 2.0, 3.0, 9.0]).unwrap(), expected);
    let coo = SparseIndex::Coo { row: vec![2, 0, 0, 0, 1, 1], col: vec![1, 2, 0, 2, 1, 1] };
    assert_eq!(sparse((3, 3), coo, &[4.0, 2.0, 1.0, 3.0, 8.0, -8.0]).unwrap(), expected);
}

#[test]
fn sums_are_narrowed_last_and_bools_stay_bools() {
    let index = || SparseIndex::Coo { row: vec![1, 1, 1, 0], col: vec![1, 0, 1, 1] };
    // Neither term fits f32, their sum does.
    let summed = sparse((2, 2), index(), &[1e39, 2.0, -1e39 + 1e30, 1e-300]).unwrap();
    let Array::Matrix(Matrix::Sparse(summed)) = summed else { panic!("a layer was expected") };
    assert_eq!((summed.indptr(), summed.indices()), (&[0, 0, 2][..], &[0, 1][..]));
    assert!((summed.row(1).1[1] / 1e30 - 1.0).abs() < 1e-6);
    let logical = Sparse { shape: (2, 2), index: index(), values: vec![1.0; 4], logical: true };
    let logical = NamedArray::from_sparse("x", logical, &mut Budget::of(1 << 16)).unwrap().array;
    assert_eq!(logical, triplets(2, 2, &[(0, 1, 1.0), (1, 0, 1.0), (1, 1, 1.0)]));
}

#[test]
fn broken_indices_are_refused() {
    let csr = |indptr: &[i64], indices: &[i64]| {
        let index = SparseIndex::Csr { indptr: indptr.to_vec(), indices: indices.to_vec() };
        sparse((2, 2), index, &[1.0]).unwrap_err().message
    };
    assert!(csr(&[], &[0]).contains("no pointers"));
    assert!(csr(&[0, 1], &[0]).contains("2 pointers, expected 3"));
    assert!(csr(&[1, 1, 1], &[0]).contains("a first pointer of 1"));
    assert!(csr(&[0, 1, 0], &[0]).contains("falls from 1 to 0"));
    assert!(csr(&[0, 1, 2], &[0]).contains("a last pointer of 2"));
    assert!(csr(&[0, 1, 2], &[0, 0]).contains("1 values"));
    assert!(csr(&[0, 1, 1], &[2]).contains("column 2"));
    assert!(csr(&[0, 1, 1], &[-1]).contains("column -1"));
    let coo = SparseIndex::Coo { row: vec![0], col: vec![] };
    assert!(sparse((2, 2), coo, &[1.0]).unwrap_err().message.contains("equally many"));
}

#[test]
fn claims_are_not_believed() {
    let coo = |shape| sparse(shape, SparseIndex::Coo { row: vec![], col: vec![] }, &[]);
    assert!(coo((1 << 31, 2)).unwrap_err().message.contains("with only 0 entries"));
    assert!(coo((1, 1 << 31)).unwrap_err().message.contains("with only 0 entries"));
    // Within the free rows, but above this test's budget.
    assert!(coo((1 << 20, 2)).unwrap_err().message.contains("limit"));
    let error = build((100, 100), Order::RowMajor, &[1.0; 10_000]).unwrap_err();
    assert!(error.message.contains("65536 bytes"), "{error}");
    assert!(build((1, 10_000), Order::RowMajor, &[1.0; 10_000]).is_err());
}

#[test]
fn a_budget_is_the_file_s_or_the_machine_s() {
    let error = |mut budget: Budget| budget.take(u64::MAX).unwrap_err();
    let file = error(Budget::within(1000, Some(1 << 40)));
    assert!(!file.out_of_memory && file.message.contains("1073805824 bytes"), "{file}");
    assert_eq!(error(Budget::within(1000, None)), file);
    let machine = error(Budget::within(1000, Some(600)));
    assert!(machine.out_of_memory && machine.message.contains("300 bytes"), "{machine}");
}
