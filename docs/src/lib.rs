#![doc = include_str!("../README.md")]

/// The Rust programs of each page are documentation tests of a module.
macro_rules! pages {
    ($($page:ident $file:literal;)*) => {$(
        #[cfg(doctest)]
        #[doc = include_str!(concat!("../book/", $file))]
        pub mod $page {}
    )*};
}

pages! {
    introduction "introduction.md";
    tutorial_arrays "tutorial-arrays.md";
    tutorial_rows "tutorial-rows.md";
    tutorial_kmeans "tutorial-kmeans.md";
    gallery "gallery.md";
    gallery_mandelbrot "gallery-mandelbrot.md";
    gallery_ray "gallery-ray.md";
    gallery_canny "gallery-canny.md";
    gallery_fluid "gallery-fluid.md";
    gallery_life "gallery-life.md";
    gallery_nbody "gallery-nbody.md";
    gallery_crystal "gallery-crystal.md";
    gallery_kmeans "gallery-kmeans.md";
    gallery_pagerank "gallery-pagerank.md";
    gallery_sieve "gallery-sieve.md";
    language "language.md";
    types "types.md";
    scalars "scalars.md";
    operations "operations.md";
    operations_elementwise "operations-elementwise.md";
    operations_shapes "operations-shapes.md";
    operations_folds "operations-folds.md";
    operations_moving "operations-moving.md";
    operations_stencils "operations-stencils.md";
    operations_control "operations-control.md";
    nested "nested.md";
    streams "streams.md";
    embedded "embedded.md";
    meaning "meaning.md";
    passes "passes.md";
    pass_sharing "pass-sharing.md";
    pass_simplify "pass-simplify.md";
    pass_flattening "pass-flattening.md";
    pass_fusion "pass-fusion.md";
    pass_strictness "pass-strictness.md";
    pass_clustering "pass-clustering.md";
    pass_kernels "pass-kernels.md";
    kernels "kernels.md";
    schedules "schedules.md";
    own_ir "own-ir.md";
    backends "backends.md";
    working "working.md";
    commands "commands.md";
    files "files.md";
    json "json.md";
    glossary "glossary.md";
    performance "performance.md";
}
