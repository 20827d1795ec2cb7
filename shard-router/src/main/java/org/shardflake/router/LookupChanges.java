/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.util.ArrayList;
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

    /** A value of a lookup, for one row if several can hold it. */
    record Name(int lookup, Claims.Key key) {}

    /**
     * @param claims of the lookup
     * @param wasHeld whether the claim is from before this transaction
     * @param isHeld whether the row holds the value once this commits, unless this was rolled back to a savepoint since
     */
    record Change(Claims claims, Claims.Claim claim, boolean wasHeld, boolean isHeld) {

        LookupEntry holder() {
            return claim.holder();
        }

        Change with(boolean held) {
            return new Change(claims, claim, wasHeld, held);
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
     * Deletes the claims that are not good after this. The shard of the rows has the last word: a savepoint may have brought a record
     * back, and a COMMIT as text may have ended the transaction before.
     */
    void ended(boolean committed) {
        Map<Name, Change> ended = new HashMap<>(changes);
        changes.clear();
        ended.values().removeIf(change -> committed ? change.isHeld() : change.wasHeld());
        if (ended.isEmpty()) {
            return;
        }
        try {
            List<UUID> good = ended.values().iterator().next().claims().committed(claims(ended));
            ended.forEach((name, change) -> {
                if (!good.contains(change.claim().token())) {
                    change.claims().delete(name.key(), change.claim().token());
                }
            });
        } catch (ShardflakeException | IllegalStateException e) {
            LOG.debug("abandoned claims stay until the next ones", e);
        }
    }

    private static List<Claims.Claim> claims(Map<Name, Change> changes) {
        List<Claims.Claim> claims = new ArrayList<>();
        changes.values().forEach(change -> claims.add(change.claim()));
        return claims;
    }
}
