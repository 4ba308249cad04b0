//! Measures compile throughput in routes per second: the whole compilation for several sizes, and
//! each stage for 10,000 routes.

mod support;

use criterion::{
    BatchSize, BenchmarkId, Criterion, SamplingMode, Throughput, criterion_group, criterion_main,
};
use rulec::{MemoryLoader, Rules};
use rulec_base::parallel::ThreadLimit;
use rulec_syntax::loader;
use rulec_vm::bytecode;
use std::hint::black_box;
use std::time::Duration;
use support::rules::{Kind, file, routes};

fn source(count: usize) -> String {
    file(&routes(count, Kind::Mixed, 1), true)
}

fn whole(c: &mut Criterion) {
    let mut group = c.benchmark_group("compile");
    for count in [100, 10_000, 100_000] {
        let source = source(count);
        group.throughput(Throughput::Elements(count as u64));
        group.sampling_mode(SamplingMode::Flat).sample_size(10).warm_up_time(Duration::from_millis(500));
        group.measurement_time(Duration::from_secs(2));
        group.bench_with_input(BenchmarkId::new("whole", count), &source, |bencher, source| {
            bencher.iter_with_large_drop(|| Rules::from_text(black_box(source)).expect("it compiles"));
        });
    }
    group.finish();
}

fn stages(c: &mut Criterion) {
    let count = 10_000;
    let source = source(count);
    let files = MemoryLoader::new().with("main.rules", source.as_str());
    let mut group = c.benchmark_group("compile/stages");
    group.throughput(Throughput::Elements(count as u64));
    group.sampling_mode(SamplingMode::Flat).sample_size(10).warm_up_time(Duration::from_millis(300));
    group.measurement_time(Duration::from_secs(2));
    group.bench_function("parse", |bencher| {
        bencher.iter_with_large_drop(|| loader::load(ThreadLimit::All, &files, black_box("main.rules")));
    });
    let loaded = loader::load(ThreadLimit::All, &files, "main.rules");
    group.bench_function("check", |bencher| {
        bencher.iter_with_large_drop(|| rulec_sema::check::check(black_box(&loaded)));
    });
    let (program, _) = rulec_sema::check::check(&loaded);
    group.bench_function("normal", |bencher| {
        bencher.iter_with_large_drop(|| rulec_sema::normal::build_normal_form(black_box(&program)));
    });
    let (normal, _) = rulec_sema::normal::build_normal_form(&program);
    group.bench_function("lower", |bencher| {
        bencher.iter_batched(
            || (),
            |()| bytecode::lower(black_box(&program), &normal).expect("it lowers"),
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

criterion_group!(benches, whole, stages);
criterion_main!(benches);
