/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardflakeException;
import org.shardflake.router.internal.session.RouterLog;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The claims and releases of one transaction. Claims that nobody can hold after it are deleted when it ends. That is no more than tidiness: one that
 * stays is taken by the next who wants the value, and nobody finds a row by it.
 */
final class LookupChanges {

    private static final Logger LOG = LoggerFactory.getLogger(RouterLog.NAME);

    /** A value of a lookup, and the row if several rows can hold the value. */
    record Name(int lookup, Claims.Key key) {}

    /**
     * @param claims of the lookup
     * @param wasHeld whether the claim is from before this transaction
     * @param isHeld whether the row holds the value once this commits, unless this was rolled back to a savepoint since
     * @param writer PostgreSQL's number of the transaction that wrote the record; null if the claim is from before
     */
    record Change(
            Claims claims,
            Claims.Claim claim,
            boolean wasHeld,
            boolean isHeld,
            @Nullable String writer) {

        LookupEntry holder() {
            return claim.holder();
        }

        Change with(boolean held) {
            return new Change(claims, claim, wasHeld, held, writer);
        }
    }

    private final Map<Name, Change> changes = new HashMap<>();

    @Nullable
    Change get(Name name) {
        return changes.get(name);
    }

    void put(Name name, Change change) {
        changes.put(name, change);
    }

    /** Leaves all claims as they are, since the outcome of the transaction is unknown. */
    void leave() {
        changes.clear();
    }

    /**
     * Deletes the claims that the end of the transaction leaves invalid. The shard of the rows has the last word: a savepoint may have brought
     * a record back, and SQL by the driver's own connection may have committed the transaction before, or prepared it to be committed later.
     */
    void ended(boolean committed) {
        Map<Name, Change> ended = new HashMap<>(changes);
        changes.clear();
        ended.values().removeIf(change -> committed ? change.isHeld() : change.wasHeld());
        if (ended.isEmpty()) {
            return;
        }
        try {
            List<UUID> kept = kept(ended.values());
            ended.forEach((name, change) -> {
                if (!kept.contains(change.claim().token())) {
                    change.claims().delete(name.key(), change.claim().token());
                }
            });
        } catch (ShardflakeException | IllegalStateException e) {
            LOG.debug("abandoned claims stay until the next ones", e);
        }
    }

    /** The tokens of the claims that are valid or may become valid. */
    private static List<UUID> kept(Collection<Change> changes) {
        List<UUID> kept = new ArrayList<>();
        List<Change> old = new ArrayList<>();
        for (Change change : changes) {
            if (change.wasHeld()) {
                old.add(change); // Its record was committed. Nobody can write it again once its deletion is visible.
            } else if (change.claims().decide(change.claim()) != Claims.Verdict.VOID) {
                kept.add(change.claim().token());
            }
        }
        if (!old.isEmpty()) {
            kept.addAll(old.get(0)
                    .claims()
                    .committed(old.stream().map(Change::claim).toList()));
        }
        return kept;
    }
}
