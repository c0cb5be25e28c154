// The C interface of a compiled Stan program. Names and meanings are those of BridgeStan 2.x, so
// a library built by BridgeStan can take this one's place, and its clients can load this one.
#include "program.hpp"

#include <stan/io/empty_var_context.hpp>
#include <stan/io/json/json_data.hpp>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <stdexcept>

#define EXPORTED extern "C" __attribute__((visibility("default")))

struct bs_model {
  std::unique_ptr<refti::Program> program;
  std::string name, info, unconstrained_names;
  std::string names[4];  // with transformed parameters: bit 0; with generated quantities: bit 1
  int sizes[4];
  long solver_limit = std::numeric_limits<long>::max();
  mutable std::atomic<long> stopped{0};  // densities that reached it
};

struct bs_rng {
  stan::rng_t generator;
};

namespace {

// Stan's tape of derivatives is one a thread, and must be made by each.
void enter_thread() {
#ifdef STAN_THREADS
  static thread_local stan::math::ChainableStack tape;
  (void)tape;
#endif
}

template <typename Action>
int guarded(char** error, Action action) {
  enter_thread();
  try {
    action();
    return 0;
  } catch (const std::exception& failure) {
    if (error) *error = strdup(failure.what());
  } catch (...) {
    if (error) *error = strdup("an exception that is no std::exception");
  }
  return 1;
}

// As guarded, with the work of solvers held to the model's limit.
template <typename Action>
int limited(const bs_model* model, char** error, Action action) {
  refti::solver_work = {0, model->solver_limit};
  const int failed = guarded(error, action);
  if (refti::solver_work.done > refti::solver_work.most) ++model->stopped;
  refti::solver_work = {};
  return failed;
}

std::string joined(const std::vector<std::string>& names) {
  std::string all;
  for (const auto& name : names) all += (all.empty() ? "" : ",") + name;
  return all;
}

int which(bool transformed, bool generated) { return (transformed ? 1 : 0) | (generated ? 2 : 0); }

void require_full(bool propto, bool jacobian) {
  if (propto || !jacobian)
    throw std::invalid_argument("only the density with all constants and the Jacobian is compiled");
}

Eigen::VectorXd vector_of(const double* values, int size) {
  return Eigen::Map<const Eigen::VectorXd>(values, size);
}

// Of nothing, data() is null: memcpy would let the compiler take it for no null, and free it.
void copy(const Eigen::VectorXd& from, double* to) {
  if (from.size() > 0) std::memcpy(to, from.data(), sizeof(double) * from.size());
}

}  // namespace

extern "C" {
__attribute__((visibility("default"))) int bs_major_version = 2;
__attribute__((visibility("default"))) int bs_minor_version = 6;
__attribute__((visibility("default"))) int bs_patch_version = 0;
}

EXPORTED void bs_free_error_msg(char* message) { std::free(message); }

EXPORTED bs_model* bs_model_construct(const char* data, unsigned seed, char** error) {
  auto model = std::make_unique<bs_model>();
  int failed = guarded(error, [&] {
    if (data && *data) {
      std::istringstream text(data);
      stan::json::json_data context(text);
      model->program = refti::make_program(context, seed);
    } else {
      stan::io::empty_var_context context;
      model->program = refti::make_program(context, seed);
    }
    const auto& program = *model->program;
    model->name = program.name();
    model->info = program.compile_info();
#ifdef STAN_THREADS
    model->info += "STAN_THREADS=true\n";
#endif
    model->unconstrained_names = joined(program.unconstrained_names());
    for (int kind = 0; kind < 4; ++kind) {
      const auto names = program.names(kind & 1, kind & 2);
      model->names[kind] = joined(names);
      model->sizes[kind] = static_cast<int>(names.size());
    }
  });
  return failed ? nullptr : model.release();
}

EXPORTED void bs_model_destruct(bs_model* model) { delete model; }
EXPORTED const char* bs_name(const bs_model* model) { return model->name.c_str(); }
EXPORTED const char* bs_model_info(const bs_model* model) { return model->info.c_str(); }

EXPORTED const char* bs_param_names(const bs_model* model, bool transformed, bool generated) {
  return model->names[which(transformed, generated)].c_str();
}

EXPORTED const char* bs_param_unc_names(const bs_model* model) {
  return model->unconstrained_names.c_str();
}

EXPORTED int bs_param_num(const bs_model* model, bool transformed, bool generated) {
  return model->sizes[which(transformed, generated)];
}

EXPORTED int bs_param_unc_num(const bs_model* model) { return model->program->dim(); }

EXPORTED bs_rng* bs_rng_construct(unsigned seed, char** error) {
  bs_rng* made = nullptr;
  guarded(error, [&] { made = new bs_rng{stan::services::util::create_rng(seed, 0)}; });
  return made;
}

EXPORTED int bs_rng_destruct(bs_rng* rng) {
  delete rng;
  return 0;
}

EXPORTED int bs_set_print_callback(void (*)(const char*, size_t), char**) { return 0; }

EXPORTED int bs_param_constrain(const bs_model* model, bool transformed, bool generated,
                                const double* x, double* values, bs_rng* rng, char** error) {
  return guarded(error, [&] {
    if (generated && !rng) throw std::invalid_argument("generated quantities need a generator");
    stan::rng_t unused = stan::services::util::create_rng(0, 0);
    auto& generator = rng ? rng->generator : unused;
    const auto& program = *model->program;
    copy(program.constrain(vector_of(x, program.dim()), transformed, generated, generator), values);
  });
}

EXPORTED int bs_param_unconstrain(const bs_model* model, const double* values, double* x,
                                  char** error) {
  return guarded(error, [&] {
    copy(model->program->unconstrain(vector_of(values, model->sizes[0])), x);
  });
}

EXPORTED int bs_log_density(const bs_model* model, bool propto, bool jacobian, const double* x,
                            double* value, char** error) {
  return limited(model, error, [&] {
    require_full(propto, jacobian);
    Eigen::VectorXd point = vector_of(x, model->program->dim());
    *value = model->program->log_density(point);
  });
}

EXPORTED int bs_log_density_gradient(const bs_model* model, bool propto, bool jacobian,
                                     const double* x, double* value, double* gradient,
                                     char** error) {
  return limited(model, error, [&] {
    require_full(propto, jacobian);
    const int dim = model->program->dim();
    stan::math::nested_rev_autodiff tape;  // gives its memory back when it goes out of scope
    refti::Variables point(dim);
    for (int i = 0; i < dim; ++i) point.coeffRef(i) = stan::math::var(x[i]);
    stan::math::var density = model->program->log_density(point);
    *value = density.val();
    density.grad();
    for (int i = 0; i < dim; ++i) gradient[i] = point.coeff(i).adj();
  });
}

// Beyond BridgeStan's interface: how often one density may ask for the right-hand sides of its
// differential equations, and how many densities were stopped there.
EXPORTED void refti_limit_solvers(bs_model* model, long most) { model->solver_limit = most; }
EXPORTED long refti_stopped(const bs_model* model) { return model->stopped.load(); }

// Moves the calling thread's tape on by so many bytes, for good: what is computed after it must
// have the same bits. For tests.
EXPORTED void refti_shift_tape(long bytes) {
  enter_thread();
  stan::math::ChainableStack::instance_->memalloc_.alloc(bytes);
}
