// A Program around the class that stanc generated, in the header named by REFTI_GENERATED.
// In angle brackets, so that a folder with the precompiled header can come before this one.
#include <precompiled.hpp>

#include "solvers.hpp"

// stanc derives its class from model_base_crtp, which instantiates every variant of the density.
// Two are used here, so the class gets a slimmer base: half the time to compile.
namespace stan::model {
template <typename Generated>
class slim_base : public prob_grad {
 public:
  explicit slim_base(size_t dim) : prob_grad(dim) {}
  virtual ~slim_base() = default;
  // What the generated class declares to be final, and so has to be virtual.
  virtual std::string model_name() const = 0;
  virtual void constrained_param_names(std::vector<std::string>&, bool, bool) const = 0;
  virtual void unconstrained_param_names(std::vector<std::string>&, bool, bool) const = 0;
  virtual void transform_inits(const stan::io::var_context&, Eigen::VectorXd&,
                               std::ostream*) const = 0;
};
}  // namespace stan::model

#define model_base_crtp slim_base
#define USING_R  // leaves out the factory function, which wants the base class
#include REFTI_GENERATED
#undef USING_R
#undef model_base_crtp

namespace {

class Generated final : public refti::Program {
 public:
  Generated(stan::io::var_context& data, unsigned seed) : model_(data, seed, nullptr) {}

  std::string name() const override { return model_.model_name(); }

  std::string compile_info() const override {
    std::string lines;
    for (const auto& line : model_.model_compile_info()) lines += line + "\n";
    return lines;
  }

  int dim() const override { return static_cast<int>(model_.num_params_r()); }

  stan::math::var log_density(refti::Variables& x) const override {
    return model_.template log_prob<false, true>(x, nullptr);
  }

  double log_density(Eigen::VectorXd& x) const override {
    return model_.template log_prob<false, true>(x, nullptr);
  }

  std::vector<std::string> names(bool transformed, bool generated) const override {
    std::vector<std::string> names;
    model_.constrained_param_names(names, transformed, generated);
    return names;
  }

  std::vector<std::string> unconstrained_names() const override {
    std::vector<std::string> names;
    model_.unconstrained_param_names(names, false, false);
    return names;
  }

  Eigen::VectorXd constrain(const Eigen::VectorXd& x, bool transformed, bool generated,
                            stan::rng_t& rng) const override {
    Eigen::VectorXd point = x, values;
    model_.write_array(rng, point, values, transformed, generated, nullptr);
    return values;
  }

  Eigen::VectorXd unconstrain(const Eigen::VectorXd& values) const override {
    Eigen::VectorXd x;
    model_.unconstrain_array(values, x, nullptr);
    return x;
  }

 private:
  stan_model model_;
};

}  // namespace

std::unique_ptr<refti::Program> refti::make_program(stan::io::var_context& data, unsigned seed) {
  return std::make_unique<Generated>(data, seed);
}
