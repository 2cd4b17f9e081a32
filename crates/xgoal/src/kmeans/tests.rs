use super::*;
use crate::random::Purpose;

fn stream() -> Stream {
    Stream::new(1, Purpose::KMeans)
}

/// The points of `scripts/golden_scores.py`.
fn golden_points() -> Dense<f64> {
    let value = |i: usize| ((i / 3 * 37 + i % 3 * 101 + i / 3 * (i % 3) * 13) % 97) as f64 / 10.0;
    Dense::from_vec(40, 3, (0..120).map(value).collect()).unwrap()
}

/// Normal noise around `centers` normal centres.
fn blobs<T: Real>(n: usize, d: usize, centers: usize) -> Dense<T> {
    let (noise, stream) = (stream().substream(0), Stream::new(2, Purpose::Planted));
    let center = |i: usize| 3.0 * stream.normal((i / d % centers * d + i % d) as u64);
    let value = |i: usize| T::from_f64(center(i) + noise.normal(i as u64));
    Dense::from_vec(n, d, (0..n * d).map(value).collect()).unwrap()
}

/// One start from given centres.
fn from<'a, T>(centers: View<'a, T>) -> Known<'a, T> {
    Known { centers: Some(centers), advantage: 0.0, others: &[] }
}

fn in_pool<R: Send>(threads: usize, f: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(f)
}

fn plain_inertia<T: Real>(points: &Dense<T>, found: &Clustering<T>) -> f64 {
    let distance = |i: usize, c: usize| -> f64 {
        let pairs = points.row(i).iter().zip(found.centers.row(c));
        pairs.map(|(x, y)| (x.to_f64() - y.to_f64()).powi(2)).sum()
    };
    let mut sum = 0.0;
    for (i, &a) in found.assignments.iter().enumerate() {
        let own = distance(i, a as usize);
        for c in 0..found.centers.rows() {
            assert!(own <= distance(i, c) + 1e-3, "point {i} is nearer to {c} than to {a}");
        }
        sum += own;
    }
    sum
}

/// The numbers are scikit-learn's; `scripts/golden_scores.py` prints them.
#[test]
fn lloyd_agrees_with_scikit_learn() {
    let points = golden_points();
    let kmeans = KMeans { restarts: 0, ..KMeans::new(4) };
    let centers = points.select_rows(&[0, 7, 14, 21]);
    let found =
        kmeans.fit_knowing(View::from(&points), &from(View::from(&centers)), stream()).unwrap();
    assert!((found.inertia - 368.9822045454546).abs() < 1e-9, "{}", found.inertia);
    assert_eq!(found.iterations, 7);
    let expected = [
        0, 3, 2, 0, 2, 1, 2, 1, 0, 3, 2, 0, 2, 1, 0, 3, 0, 1, 2, 3, 1, 3, 0, 1, 3, 1, 2, 3, 1, 3,
        3, 2, 3, 2, 1, 2, 1, 0, 3, 2,
    ];
    assert_eq!(found.assignments, expected);
    for (got, expected) in found.centers.row(0).iter().zip([1.625, 3.0875, 2.125]) {
        assert!((got - expected).abs() < 1e-12);
    }
}

/// A centre that no point is near starts empty and is moved onto the farthest point.
#[test]
fn empty_clusters_move_as_in_scikit_learn() {
    let points = golden_points();
    let mut centers = points.select_rows(&[0, 7, 14]).into_values();
    centers.extend([1000.0; 3]);
    let kmeans = KMeans { restarts: 0, ..KMeans::new(4) };
    let found = kmeans
        .fit_knowing(View::from(&points), &from(View::new(&centers, 4, 3)), stream())
        .unwrap();
    assert!((found.inertia - 376.0861111111111).abs() < 1e-9, "{}", found.inertia);
    assert_eq!(found.iterations, 7);
}

/// Four groups at the corners of a rectangle that is nearly a square: two clusters can be its long or its short halves,
/// and the same points seen elsewhere say which.
#[test]
fn other_sights_of_the_points_decide_between_equals() {
    let corners = |width: f64, height: f64| {
        let noise = stream().substream(7);
        let value = move |i: usize| {
            let (row, col) = (i / 2, i % 2);
            let corner =
                if col == 0 { (row % 2) as f64 * width } else { (row / 2 % 2) as f64 * height };
            corner + 0.01 * noise.normal(i as u64)
        };
        Dense::from_vec(80, 2, (0..160).map(value).collect()).unwrap()
    };
    let points = corners(1.0, 0.98);
    let halves = |found: &Clustering<f64>, by: fn(usize) -> usize| {
        (0..80).all(|i| found.assignments[i] == found.assignments[if by(i) == 0 { 0 } else { 3 }])
    };
    let kmeans = KMeans { restarts: 20, ..KMeans::new(2) };
    let alone = kmeans.fit(View::from(&points), stream()).unwrap();
    assert!(halves(&alone, |i| i % 2));
    let elsewhere = corners(0.5, 1.0);
    let known = Known { centers: None, advantage: 0.0, others: &[View::from(&elsewhere)] };
    let beside = kmeans.fit_knowing(View::from(&points), &known, stream()).unwrap();
    assert!(halves(&beside, |i| i / 2 % 2));
    assert!(beside.inertia > alone.inertia);
    // The short halves are worse by some hundredths: kept where they were before, unless that is clearly better.
    let kept = |advantage| {
        let known = Known { advantage, ..from(View::from(&beside.centers)) };
        let found = kmeans.fit_knowing(View::from(&points), &known, stream()).unwrap();
        halves(&found, |i| i / 2 % 2)
    };
    assert!(kept(0.1));
    assert!(!kept(0.001));
    // Points that are all the same say nothing.
    let same = Dense::from_vec(80, 1, vec![5.0; 80]).unwrap();
    let known = Known { centers: None, advantage: 0.0, others: &[View::from(&same)] };
    assert_eq!(kmeans.fit_knowing(View::from(&points), &known, stream()).unwrap(), alone);
}

#[test]
fn threads_do_not_change_a_bit() {
    // Enough blocks for the restarts to run one after another, and few enough not to.
    for rows in [BLOCKS_FOR_SEQUENTIAL_RESTARTS * points::BLOCK, 700] {
        let points = blobs::<f32>(rows, 7, 9);
        let settings = KMeans { restarts: 3, ..KMeans::new(11) };
        let fit = || settings.fit(View::from(&points), stream()).unwrap();
        let one = in_pool(1, fit);
        assert_eq!(one, in_pool(2, fit));
        assert_eq!(one, in_pool(4, fit));
        assert!((plain_inertia(&points, &one) / one.inertia - 1.0).abs() < 1e-5);
    }
}

/// Scores kept from earlier iterations stand for the ones a fresh start would compute.
#[test]
fn a_converged_clustering_is_a_fixed_point() {
    let points = blobs::<f64>(1000, 4, 12);
    let settings = KMeans { tolerance: 0.0, ..KMeans::new(20) };
    let found = settings.fit(View::from(&points), stream()).unwrap();
    assert!(found.iterations > 3);
    let again = KMeans { restarts: 0, ..settings }
        .fit_knowing(View::from(&points), &from(View::from(&found.centers)), stream())
        .unwrap();
    assert_eq!(found.assignments, again.assignments);
    assert!((found.inertia - again.inertia).abs() < 1e-9 * found.inertia);
    assert!(again.iterations <= 2);
}

#[test]
fn separate_blobs_are_found_in_both_precisions() {
    let inertia = |inertia: f64| inertia / (600.0 * 8.0);
    let points = blobs::<f32>(600, 8, 6);
    let single = KMeans::new(6).fit(View::from(&points), stream()).unwrap();
    let double = KMeans::new(6).fit(View::from(&blobs::<f64>(600, 8, 6)), stream()).unwrap();
    assert!((inertia(single.inertia) - 1.0).abs() < 0.1, "{}", single.inertia);
    assert!((single.inertia / double.inertia - 1.0).abs() < 1e-5);
    // Noise may carry a point over the border between two blobs, where it is indeed nearer.
    assert!((plain_inertia(&points, &single) / single.inertia - 1.0).abs() < 1e-5);
    let strays = (0..600).filter(|i| single.assignments[*i] != single.assignments[i % 6]).count();
    assert!(strays < 6, "{strays}");
}

#[test]
fn starts_compared_on_a_sample_end_where_all_points_lead() {
    let points = blobs::<f32>(2 * SAMPLE, 4, 6);
    let view = View::from(&points);
    let found = KMeans::new(6).fit(view, stream()).unwrap();
    assert!((plain_inertia(&points, &found) / found.inertia - 1.0).abs() < 1e-4);
    // One point of each blob leads all points to the blobs; the sample must not lead elsewhere.
    let truth = points.select_rows(&[0, 1, 2, 3, 4, 5]);
    let alone = KMeans { restarts: 0, ..KMeans::new(6) };
    let best = alone.fit_knowing(view, &from(View::from(&truth)), stream()).unwrap();
    assert!(found.inertia <= 1.001 * best.inertia, "{} and {}", found.inertia, best.inertia);
    let again = in_pool(3, || KMeans::new(6).fit(view, stream()).unwrap());
    assert_eq!(again, found);
}

#[test]
fn it_is_known_whether_given_centres_gave_way() {
    // Few points, and enough for starts to be compared on a sample.
    for rows in [600, 2 * SAMPLE] {
        let points = blobs::<f32>(rows, 8, 6);
        let view = View::from(&points);
        let fit = |centers: &Dense<f32>| {
            let known = Known { advantage: 0.01, ..from(View::from(centers)) };
            KMeans::new(6).fit_knowing(view, &known, stream()).unwrap()
        };
        let found = KMeans::new(6).fit(view, stream()).unwrap();
        assert!(!found.replaced);
        assert!(!fit(&found.centers).replaced);
        // Six centres in one point cannot part the blobs.
        let poor = fit(&points.select_rows(&[0; 6]));
        assert!(poor.replaced);
        assert!((poor.inertia / found.inertia - 1.0).abs() < 1e-3);
    }
    // Where every start is as good, nothing takes the place of what was followed.
    let points = Dense::from_vec(40, 2, [1f32, 2.0].repeat(40)).unwrap();
    let centers = points.select_rows(&[0; 3]);
    let known = Known { advantage: 0.01, ..from(View::from(&centers)) };
    assert!(!KMeans::new(3).fit_knowing(View::from(&points), &known, stream()).unwrap().replaced);
}

#[test]
fn points_far_from_the_origin_keep_their_distances() {
    let mut points = blobs::<f32>(600, 8, 6);
    points.values_mut().iter_mut().for_each(|v| *v += 1000.0);
    let found = KMeans::new(6).fit(View::from(&points), stream()).unwrap();
    assert!((found.inertia / (600.0 * 8.0) - 1.0).abs() < 0.1, "{}", found.inertia);
}

#[test]
fn one_cluster_is_the_mean_and_n_clusters_are_the_points() {
    let points = golden_points();
    let one = KMeans::new(1).fit(View::from(&points), stream()).unwrap();
    let mean = (0..40).map(|r| points.row(r)[1]).sum::<f64>() / 40.0;
    assert!((one.centers.row(0)[1] - mean).abs() < 1e-12);
    let all = KMeans::new(40).fit(View::from(&points), stream()).unwrap();
    assert!(all.inertia < 1e-20, "{}", all.inertia);
    let mut clusters = all.assignments.clone();
    clusters.sort_unstable();
    clusters.dedup();
    assert_eq!(clusters.len(), 40);
}

#[test]
fn repeated_rows_leave_clusters_empty_but_finite() {
    let values: Vec<f32> = (0..50).flat_map(|i| [(i % 2) as f32, 5.1]).collect();
    let points = Dense::from_vec(50, 2, values).unwrap();
    let found = KMeans::new(7).fit(View::from(&points), stream()).unwrap();
    assert!(found.inertia < 1e-9, "{}", found.inertia);
    assert!(found.centers.values().iter().all(|v| v.is_finite()));
    assert!((0..50).all(|i| found.assignments[i] == found.assignments[i % 2]));
    assert_ne!(found.assignments[0], found.assignments[1]);
}

#[test]
fn unusable_input_is_refused() {
    let refused = |settings: KMeans, change: fn(&mut [f64])| {
        let mut points = golden_points();
        change(points.values_mut());
        settings.fit(View::from(&points), stream()).unwrap_err().to_string()
    };
    assert!(refused(KMeans::new(41), |_| ()).contains("41 clusters for 40 points"));
    assert!(refused(KMeans::new(0), |_| ()).contains("at least 1"));
    assert!(refused(KMeans::new(2), |v| v[4] = f64::NAN).contains("row 1 has NaN in column 1"));
    assert!(refused(KMeans::new(2), |v| v[0] = 1e200).contains("too far"));
    let tolerance = KMeans { tolerance: f64::NAN, ..KMeans::new(2) };
    assert!(refused(tolerance, |_| ()).contains("tolerance"));
    let points = golden_points();
    let centers = points.select_rows(&[0, 1]);
    let (points, centers) = (View::from(&points), View::from(&centers));
    let refused = |known| KMeans::new(3).fit_knowing(points, &known, stream()).unwrap_err();
    for known in [from(centers), Known { centers: None, advantage: 0.0, others: &[centers] }] {
        let error = refused(known);
        assert!(matches!(error, Error::Shape { .. }), "{error}");
    }
}
