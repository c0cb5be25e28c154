# rstan and bridgesampling on one Stan program: writes log evidence, its error and what it took.
arguments <- commandArgs(trailingOnly = TRUE)
suppressPackageStartupMessages({library(rstan); library(bridgesampling)})
rstan_options(boost_lib = "/usr/include")
data <- read_rdump(arguments[2])
if (file.exists(arguments[4])) {
  program <- readRDS(arguments[4])
} else {
  program <- stan_model(arguments[1])
  saveRDS(program, arguments[4])
}
seed <- as.integer(arguments[5])
begun <- proc.time()[["elapsed"]]
fit <- sampling(program, data = data, chains = 4, iter = 2000, cores = 2, seed = seed + 1,
                refresh = 0)
both <- proc.time()[["elapsed"]] - begun
set.seed(seed)
begun <- proc.time()[["elapsed"]]
bridge <- bridge_sampler(fit, silent = TRUE)
bridging <- proc.time()[["elapsed"]] - begun
all_steps <- sapply(get_sampler_params(fit, inc_warmup = TRUE), function(p) sum(p[, "n_leapfrog__"]))
kept_steps <- sapply(get_sampler_params(fit, inc_warmup = FALSE), function(p) sum(p[, "n_leapfrog__"]))
answer <- list(
  log_z = bridge$logml, re2 = error_measures(bridge)$re2,
  gradients = sum(all_steps), calls = 8000,
  sampling_seconds = both * sum(kept_steps) / sum(all_steps) + bridging
)
writeLines(paste(names(answer), sapply(answer, format, digits = 15)), arguments[3])
