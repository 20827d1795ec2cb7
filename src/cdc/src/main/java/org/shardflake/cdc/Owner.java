/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cdc;

import java.util.Optional;

/**
 * The server whose changes of a shard are used.
 *
 * @param left the name of the hand-over with which the shard has left it, if it has
 */
record Owner(String server, long epoch, Optional<String> left) {

    /**
     * The owner after a line of a server's journal; empty if the line has to wait for changes from this owner.
     *
     * @throws ChangesLostException if the shard has changed servers without a journal
     */
    Optional<Owner> after(String sender, Journal line) {
        boolean isOwners = server.equals(sender);
        if (!line.arrives()) {
            return Optional.of(
                    isOwners && line.epoch() > epoch
                            ? new Owner(
                                    server, epoch, Optional.of(line.handOver().orElse("")))
                            : this);
        }
        if (line.epoch() <= epoch) {
            // It has stayed after an attempt at a cutover, or the line is an old one.
            return Optional.of(isOwners && line.epoch() == epoch ? new Owner(server, epoch, Optional.empty()) : this);
        }
        if (line.handOver().isEmpty()) {
            throw new ChangesLostException("%s got shard %s with epoch %s, but not from %s, which had it"
                    .formatted(sender, line.shard(), line.epoch(), server));
        }
        return left.equals(line.handOver())
                ? Optional.of(new Owner(sender, line.epoch(), Optional.empty()))
                : Optional.empty();
    }
}
