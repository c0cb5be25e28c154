// Program: what the core, compiled once, needs of a Stan program, compiled each time.
#pragma once

#include "same_bits.hpp"

#include <stan/io/var_context.hpp>
#include <stan/math/rev/core.hpp>
#include <stan/services/util/create_rng.hpp>

#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace refti {

using Variables = Eigen::Matrix<stan::math::var, Eigen::Dynamic, 1>;

// Densities are of unconstrained coordinates, with the Jacobian, and no constant is dropped.
class Program {
 public:
  virtual ~Program() = default;
  virtual std::string name() const = 0;
  virtual std::string compile_info() const = 0;
  virtual int dim() const = 0;
  virtual stan::math::var log_density(Variables& x) const = 0;
  virtual double log_density(Eigen::VectorXd& x) const = 0;
  virtual std::vector<std::string> names(bool transformed, bool generated) const = 0;
  virtual std::vector<std::string> unconstrained_names() const = 0;
  virtual Eigen::VectorXd constrain(const Eigen::VectorXd& x, bool transformed, bool generated,
                                    stan::rng_t& rng) const = 0;
  virtual Eigen::VectorXd unconstrain(const Eigen::VectorXd& values) const = 0;
};

// How often the density that this thread computes has asked for the right-hand side of a
// differential equation, and how often it may.
struct SolverWork {
  long done = 0, most = std::numeric_limits<long>::max();
};
inline thread_local SolverWork solver_work;

// Defined beside the generated class.
std::unique_ptr<Program> make_program(stan::io::var_context& data, unsigned seed);

}  // namespace refti
