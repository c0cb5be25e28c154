// A batch of points through a compiled density, over threads, as a call that XLA can make. It knows
// nothing of Stan: it is given the addresses of functions with BridgeStan's signatures.
#include "xla/ffi/api/ffi.h"

#include <atomic>
#include <condition_variable>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

using Value = int (*)(const void*, bool, bool, const double*, double*, char**);
using Gradient = int (*)(const void*, bool, bool, const double*, double*, double*, char**);
using Release = void (*)(char*);

constexpr double LONG_ENOUGH = 30e-6;  // seconds of work below which waking a thread costs more
constexpr double NEWEST = 0.1;         // weight of the newest gradient in the mean of its seconds

// A density, and what it rejected so far.
struct Evaluator {
  const void* model;
  Value value;
  Gradient gradient;
  Release release;
  long dim;
  std::atomic<double> seconds{0.0};  // of one gradient, about: a running mean
  std::atomic<long> rejected{0};
  std::mutex first;
  std::string message;
  std::vector<double> where;
};

// Threads that help whoever comes first; who comes while they are busy works alone.
class Helpers {
 public:
  explicit Helpers(int count) {
    for (int i = 0; i < count; ++i) std::thread([this] { help(); }).detach();
    count_ = count;
  }

  void share(long items, const std::function<void(long)>& work) {
    std::unique_lock<std::mutex> only(busy_, std::try_to_lock);
    if (count_ == 0 || !only.owns_lock()) {
      for (long i = 0; i < items; ++i) work(i);
      return;
    }
    {
      std::lock_guard<std::mutex> lock(mutex_);
      work_ = &work;
      items_ = items;
      next_ = 0;
      ++round_;
    }
    wake_.notify_all();
    take(work, items);
    std::unique_lock<std::mutex> lock(mutex_);
    work_ = nullptr;  // those who have not begun need not
    done_.wait(lock, [this] { return helping_ == 0; });
  }

 private:
  void take(const std::function<void(long)>& work, long items) {
    for (long i = next_++; i < items; i = next_++) work(i);
  }

  void help() {
    long seen = 0;
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return round_ != seen && work_ != nullptr; });
      seen = round_;
      const auto* work = work_;
      const long items = items_;
      ++helping_;
      lock.unlock();
      take(*work, items);
      lock.lock();
      if (--helping_ == 0) done_.notify_all();
    }
  }

  std::mutex busy_, mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(long)>* work_ = nullptr;
  long items_ = 0, round_ = 0;
  std::atomic<long> next_{0};
  int helping_ = 0, count_ = 0;
};

Helpers& helpers() {
  // Never destroyed: its threads wait in it until the process ends.
  static auto* all = new Helpers(static_cast<int>(std::thread::hardware_concurrency()) - 1);
  return *all;
}

void reject(Evaluator& evaluator, const double* x, char* message) {
  if (evaluator.rejected++ == 0) {
    std::lock_guard<std::mutex> lock(evaluator.first);
    evaluator.message = message ? message : "no reason given";
    evaluator.where.assign(x, x + evaluator.dim);
  }
  if (message) evaluator.release(message);
}

void evaluate_one(Evaluator& evaluator, const double* x, double* value, double* gradient) {
  char* message = nullptr;
  const int failed = gradient
                         ? evaluator.gradient(evaluator.model, false, true, x, value, gradient, &message)
                         : evaluator.value(evaluator.model, false, true, x, value, &message);
  if (failed) {
    *value = -std::numeric_limits<double>::infinity();
    if (gradient) std::fill(gradient, gradient + evaluator.dim, 0.0);
    reject(evaluator, x, message);
  }
}

void evaluate(Evaluator& evaluator, long count, const double* x, double* values, double* gradients) {
  if (count == 0) return;
  // The first point is timed in every call: one slow gradient, as the very first is, must not
  // decide for good that threads are to be woken.
  const auto begun = std::chrono::steady_clock::now();
  evaluate_one(evaluator, x, values, gradients);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begun;
  if (gradients) evaluator.seconds = (1 - NEWEST) * evaluator.seconds + NEWEST * taken.count();
  const std::function<void(long)> work = [&](long i) {
    const long point = i + 1;
    evaluate_one(evaluator, x + point * evaluator.dim, values + point,
                 gradients ? gradients + point * evaluator.dim : nullptr);
  };
  if (count > 2 && evaluator.seconds * (count - 1) > LONG_ENOUGH) {
    helpers().share(count - 1, work);
  } else {
    for (long i = 0; i < count - 1; ++i) work(i);
  }
}

namespace ffi = xla::ffi;

ffi::Error call(ffi::Buffer<ffi::S64>& address, ffi::Buffer<ffi::F64>& x, double* values,
                double* gradients) {
  auto* evaluator = reinterpret_cast<Evaluator*>(address.typed_data()[0]);
  const long count = static_cast<long>(x.element_count()) / evaluator->dim;
  evaluate(*evaluator, count, x.typed_data(), values, gradients);
  return ffi::Error::Success();
}

ffi::Error call_value(ffi::Buffer<ffi::S64> address, ffi::Buffer<ffi::F64> x,
                      ffi::ResultBuffer<ffi::F64> values) {
  return call(address, x, values->typed_data(), nullptr);
}

ffi::Error call_gradient(ffi::Buffer<ffi::S64> address, ffi::Buffer<ffi::F64> x,
                         ffi::ResultBuffer<ffi::F64> values,
                         ffi::ResultBuffer<ffi::F64> gradients) {
  return call(address, x, values->typed_data(), gradients->typed_data());
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(refti_value, call_value,
                              ffi::Ffi::Bind()
                                  .Arg<ffi::Buffer<ffi::S64>>()
                                  .Arg<ffi::Buffer<ffi::F64>>()
                                  .Ret<ffi::Buffer<ffi::F64>>());

XLA_FFI_DEFINE_HANDLER_SYMBOL(refti_gradient, call_gradient,
                              ffi::Ffi::Bind()
                                  .Arg<ffi::Buffer<ffi::S64>>()
                                  .Arg<ffi::Buffer<ffi::F64>>()
                                  .Ret<ffi::Buffer<ffi::F64>>()
                                  .Ret<ffi::Buffer<ffi::F64>>());

EXPORTED void* refti_evaluator(const void* model, void* value, void* gradient, void* release,
                            long dim) {
  auto* evaluator = new Evaluator;
  evaluator->model = model;
  evaluator->value = reinterpret_cast<Value>(value);
  evaluator->gradient = reinterpret_cast<Gradient>(gradient);
  evaluator->release = reinterpret_cast<Release>(release);
  evaluator->dim = dim;
  return evaluator;
}

EXPORTED long refti_rejected(void* address) {
  return static_cast<Evaluator*>(address)->rejected.load();
}

// The first message and its point; the message is the evaluator's own.
EXPORTED const char* refti_first(void* address, double* where) {
  auto* evaluator = static_cast<Evaluator*>(address);
  std::lock_guard<std::mutex> lock(evaluator->first);
  std::memcpy(where, evaluator->where.data(), sizeof(double) * evaluator->where.size());
  return evaluator->message.c_str();
}
