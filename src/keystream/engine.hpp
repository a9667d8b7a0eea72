// SPDX-License-Identifier: Apache-2.0
// The implementation of the public KeystreamEngine: the keys that it has bound, the contexts that
// it has opened, and the precomputer with its workers.
//
//   KeystreamEngine --shared--> KeystreamService <--shared-- each worker's thread
//                                |  owns EngineState, Workers, Precomputer, Costs
//   KeystreamContext --shared--> Context   (and KeystreamService)
//                                |  owns its mutex, ledger and window; refers to the Precomputer
//   whoever fills a window --shared--> Context, so that a close waits for nobody
//
// precomputer.hpp has the order of locks. This file's mutex is never held
// together with another.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <tuple>

#include "keystream/ctr.hpp"
#include "keystream/precomputer.hpp"
#include "keystream/seal.hpp"
#include "keystream/workers.hpp"
#include "paes/keystream.hpp"

namespace paes::keystream {

class KeystreamService {
 public:
  // Makes an engine and its workers, which share it. When the last copy of the returned pointer
  // goes, the workers are told to stop; nobody waits for one that the system has set aside. Throws
  // Error(failure) if the threads cannot start.
  [[nodiscard]] static std::shared_ptr<KeystreamService> make(const KeystreamOptions& options);

  explicit KeystreamService(const KeystreamOptions& options);
  ~KeystreamService();
  KeystreamService(const KeystreamService&) = delete;
  KeystreamService& operator=(const KeystreamService&) = delete;

  [[nodiscard]] const EngineState& shared() const noexcept { return shared_; }
  [[nodiscard]] Precomputer& precomputer() noexcept { return precomputer_; }
  // Returns a CtrKey or a SealKey, by the cipher's mode. The first key of each kind is measured.
  [[nodiscard]] std::shared_ptr<BoundKey> bind(std::string_view cipher, Bytes key,
                                               std::string_view kernel);
  // Throws Error(usage) for the other mode's key, and Error(failure) if the budget has no room.
  [[nodiscard]] std::shared_ptr<CtrContext> open(const std::shared_ptr<BoundKey>& key,
                                                 const CounterBlock& first_counter,
                                                 const ContextOptions& options);
  [[nodiscard]] std::shared_ptr<SealContext> open(const std::shared_ptr<BoundKey>& key,
                                                  std::unique_ptr<const MessageIvs> ivs,
                                                  const SealedOptions& options);
  // Wipes what the context has. What a worker is still computing for it, the worker wipes.
  void close(const std::shared_ptr<Context>& context) noexcept;
  bool idle(IdleTime::Clock::time_point deadline) noexcept { return precomputer_.idle(deadline); }
  [[nodiscard]] KeystreamStatistics statistics() const;

 private:
  void refuse_in_child() const;
  // The key, if this engine has bound it for that mode; otherwise throws Error(usage).
  template <typename OneKey>
  [[nodiscard]] std::shared_ptr<OneKey> own(const std::shared_ptr<BoundKey>& key,
                                            const char* other_mode, const char* hint) const;
  template <typename OneContext, typename... Arguments>
  [[nodiscard]] std::shared_ptr<OneContext> admit(Arguments&&... arguments);

  EngineState shared_;
  Workers workers_;
  Precomputer precomputer_;

  mutable std::mutex mutex_;
  std::set<const Context*> contexts_;
  KeystreamStatistics closed_;  // counts of closed contexts
  // By kernel, key length, and whether the key is for GCM.
  std::map<std::tuple<const Kernel*, std::size_t, bool>, std::shared_ptr<Costs>> costs_;
};

// Never destroys the object. It stays reachable for leak checkers, unless memory has run out.
void abandon(std::shared_ptr<void> object) noexcept;

// A client's handle of its context, together with the engine. When the client drops it, the context
// is wiped and its memory goes back.
template <typename OneContext>
std::shared_ptr<OneContext> closing_itself(std::shared_ptr<KeystreamService> engine,
                                           std::shared_ptr<OneContext> context) {
  OneContext* const address = context.get();
  auto close = [engine = std::move(engine),
                context = std::move(context)](const OneContext*) mutable noexcept {
    if (engine->shared().mark.is_intact()) {
      engine->close(context);
      context.reset();
    } else {
      // In a child, threads that only the parent has may hold what a close would wait for.
      // Keystream is zero here, and the child never uses the rest.
      abandon(std::move(context));
      abandon(std::move(engine));
    }
  };
  return {address, std::move(close)};
}

}  // namespace paes::keystream
