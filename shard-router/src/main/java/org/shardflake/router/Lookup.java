/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardKey;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.catalog.LookupDefinition;
import org.shardflake.router.exception.CrossShardException;
import org.shardflake.router.exception.InterruptedWorkException;
import org.shardflake.router.exception.ShardSqlException;
import org.shardflake.router.internal.map.Lookups;
import org.shardflake.server.SqlText;

/**
 * Finds rows of all shards by a value, such as an account by its e-mail address. In a unique lookup a value has one row in all shards.
 *
 * <pre>{@code
 * Lookup emails = router.lookup("account.email");
 * router.run(uid, tx -> {
 *     long id = insertAccount(tx, uid, email);
 *     emails.claim(email, uid, id);     // throws LookupTakenException if another has it
 * });
 * Optional<LookupEntry> account = emails.find(email);
 * }</pre>
 *
 * <p>Claims, changes and releases are part of the transaction that the calling thread is in, on the shard of the row: they take effect
 * with its commit, or not at all. Only committed rows are found. Thread-safe; {@link ShardRouter#lookup} gives it.
 */
public final class Lookup {

    private static final long LONGEST_PAUSE_MILLIS = 100;
    /** The maximum number of void claims found in a row; more mean that clocks differ by an hour. */
    private static final int MAX_LOST = 20;

    private final String name;
    private final ShardExecutor executor;
    private final Lookups lookups;
    private final RetryPolicy retryPolicy;

    Lookup(String name, ShardExecutor executor, Lookups lookups, RetryPolicy retryPolicy) {
        this.name = name;
        this.executor = executor;
        this.lookups = lookups;
        this.retryPolicy = retryPolicy;
    }

    public String name() {
        return name;
    }

    /**
     * The row that holds a value, as of some moment during the call. Asks the value's shard. If the value was claimed or released, and
     * not found since, it also asks the row's shard whether that was committed.
     *
     * @throws IllegalStateException if several rows can hold a value; then there is {@link #findAll}
     * @throws IllegalArgumentException if no row can hold the value, for example since it is too long
     * @throws ShardflakeException if rows from before the lookup may be missing in it
     */
    public Optional<LookupEntry> find(String value) {
        return current(this::complete, lookup -> {
            if (!lookup.unique()) {
                throw new IllegalStateException(
                        "lookup %s is not unique, so a value can have many rows: use findAll".formatted(name));
            }
            return find(lookup, value).stream().findFirst();
        });
    }

    /** The rows that hold a value; otherwise as {@link #find}. All of them, so this is for values of some hundred rows. */
    public List<LookupEntry> findAll(String value) {
        return current(this::complete, lookup -> find(lookup, value));
    }

    /** Uses the lookup as this router knows it, and tries again if shards report that the lookup was dropped and created again. */
    private <T> T current(Supplier<LookupDefinition> definition, Function<LookupDefinition, T> work) {
        LookupDefinition lookup = definition.get();
        try {
            return work.apply(lookup);
        } catch (Claims.DroppedException e) {
            lookups.isDropped(lookup);
        }
        LookupDefinition next = definition.get();
        if (next.number() == lookup.number()) {
            throw dropped(null);
        }
        try {
            return work.apply(next);
        } catch (Claims.DroppedException e) {
            throw dropped(e);
        }
    }

    private ShardflakeException dropped(@Nullable Exception e) {
        return new ShardflakeException(
                Kind.PRECONDITION,
                "lookup %s was dropped, and the catalog did not tell this router of another of that name"
                        .formatted(name),
                Advice.of(
                        "%s shows whether there is one. If so, this router cannot reach the catalog, or %s says that the catalog is older than the drop",
                        CliCommand.LOOKUP_LIST, CliCommand.DOCTOR),
                e);
    }

    private LookupDefinition complete() {
        LookupDefinition lookup = lookups.get(name, LookupDefinition.State.READY);
        if (lookup.state() == LookupDefinition.State.READY) {
            return lookup;
        }
        throw new ShardflakeException(
                Kind.PRECONDITION,
                "lookup %s is %s, so rows may be missing in it".formatted(name, lookup.state()),
                switch (lookup.state()) {
                    case CREATING -> Advice.of("run %s again", CliCommand.LOOKUP_CREATE.with(name));
                    case DROPPING -> Advice.of("run %s again, and create it again", CliCommand.LOOKUP_DROP.with(name));
                    case FILLING, READY -> Advice.of("%s adds them", CliCommand.LOOKUP_BACKFILL.with(name));
                },
                null);
    }

    private List<LookupEntry> find(LookupDefinition lookup, String text) {
        LookupDefinition.Value value = lookup.value(text);
        executor.enter();
        try {
            Claims claims = new Claims(executor, lookup);
            List<LookupEntry> entries = new ArrayList<>();
            List<Claims.Claim> unsure = new ArrayList<>();
            for (Claims.Claim claim : claims.find(value)) {
                if (claim.state() == Claims.State.HELD) {
                    entries.add(claim.holder());
                } else {
                    unsure.add(claim);
                }
            }
            Set<UUID> good = unsure.isEmpty() ? Set.of() : new HashSet<>(claims.committed(unsure));
            for (Claims.Claim claim : unsure) {
                if (good.contains(claim.token())) {
                    entries.add(claim.holder());
                    if (claim.state() == Claims.State.NEW) {
                        confirm(claims, key(lookup, value, claim.holder()), claim);
                    }
                }
            }
            entries.sort((one, other) -> Long.compare(one.id(), other.id()));
            return entries;
        } finally {
            executor.leave();
        }
    }

    /** Confirms a claim, so that the next reader need not ask the row's shard. */
    private static void confirm(Claims claims, Claims.Key key, Claims.Claim claim) {
        try {
            claims.confirm(key, claim);
        } catch (ShardflakeException e) {
            // The next one asks, too.
        }
    }

    /**
     * Lets a row hold a value as soon as this transaction commits. Does nothing if it holds it already.
     *
     * @param uid the row's, whose shard this transaction is on
     * @throws LookupTakenException if another row holds the value
     * @throws LookupBusyException if a transaction that does not end claims or releases it
     * @throws CrossShardException if the uid is of another shard
     * @throws IllegalStateException outside of a transaction that writes
     * @throws IllegalArgumentException if no row can hold the value, for example since it is too long
     */
    public void claim(String value, long uid, long id) {
        current(this::usable, lookup -> {
            claim(lookup, value, new LookupEntry(uid, id));
            return true;
        });
    }

    private void claim(LookupDefinition lookup, String value, LookupEntry holder) {
        ShardTransaction tx = transaction(holder.uid());
        Claims.Key key = key(lookup, lookup.value(value), holder);
        LookupChanges.Name its = new LookupChanges.Name(lookup.number(), key);
        LookupChanges.Change before = tx.lookups().get(its);
        // What was noted may have been rolled back to a savepoint since, and the lock with it.
        boolean isHeld = before != null && before.claims().hold(tx, before.claim());
        if (before == null) {
            claim(lookup, tx, its, holder, value);
        } else if (before.holder().equals(holder)) {
            if (isHeld || recordAgain(tx, its, before)) {
                tx.lookups().put(its, before.with(true));
            } else {
                claim(lookup, tx, its, holder, value);
            }
        } else if (isHeld) {
            throw new LookupTakenException(name, lookup.shown(value), before.holder());
        } else if (before.wasHeld() || !before.isHeld()) {
            throw new IllegalStateException(
                    "%s of lookup %s is released in this transaction; another row can claim it in the next"
                            .formatted(lookup.shown(value), name));
        } else {
            claim(lookup, tx, its, holder, value);
        }
    }

    /**
     * Records a claim again after the row released the value in this transaction, or rolled the claim back to a savepoint. The claim may be leaving,
     * which is no harm; false if it is not this transaction's to write again, since another has made it void or released it.
     */
    private static boolean recordAgain(ShardTransaction tx, LookupChanges.Name its, LookupChanges.Change before) {
        Claims claims = before.claims();
        Claims.Claim claim = before.claim();
        if (!before.wasHeld()) {
            return claims.record(tx, its.key(), claim.holder(), claim, before.writer()) != null;
        }
        if (!isSeenByOthers(claims, claim)) {
            return false;
        }
        // It may be old, and nobody else can make it void.
        Claims.Claim again = new Claims.Claim(
                claim.token(), claim.state(), claim.holder(), new Timestamp(System.currentTimeMillis()));
        if (claims.record(tx, its.key(), claim.holder(), again, null) == null) {
            return false;
        }
        if (isSeenByOthers(claims, claim)) {
            return true;
        }
        claims.forget(tx, again); // This waited for another that released it.
        return false;
    }

    /** Whether other transactions still see a claim's record, which only this transaction has deleted. */
    private static boolean isSeenByOthers(Claims claims, Claims.Claim claim) {
        return !claims.committed(List.of(claim)).isEmpty();
    }

    private void claim(
            LookupDefinition lookup, ShardTransaction tx, LookupChanges.Name its, LookupEntry holder, String value) {
        Claims claims = new Claims(executor, lookup);
        Claims.Key key = its.key();
        UUID token = newToken();
        long start = System.nanoTime();
        int lost = 0;
        int unseen = 0;
        for (int tried = 1; ; tried++) {
            Claims.Claim claim = claims.claim(key, holder, token);
            if (claim.token().equals(token)) {
                String writer = claims.record(tx, key, holder, claim, null);
                if (writer != null) {
                    tx.lookups().put(its, new LookupChanges.Change(claims, claim, false, true, writer));
                    return;
                }
                if (++lost >= MAX_LOST) {
                    throw new ShardflakeException(
                            "%s of lookup %s was claimed %s times, and each claim was taken away or too old; do the clocks of servers differ by an hour?"
                                    .formatted(lookup.shown(value), name, lost));
                }
                token = newToken();
                continue;
            }
            // The row may have lost the record of its own claim, in a restore or a failover.
            boolean isTaken =
                    claim.state() == Claims.State.HELD && !claim.holder().equals(holder);
            Claims.Verdict verdict = isTaken ? Claims.Verdict.HELD : claims.decide(claim);
            switch (verdict) {
                case HELD -> {
                    if (!claim.holder().equals(holder)) {
                        throw new LookupTakenException(name, lookup.shown(value), claim.holder());
                    }
                    if (claims.hold(tx, claim)) {
                        return;
                    }
                    // It was released since, or this transaction's snapshot is older than it.
                    if (++unseen >= MAX_LOST) {
                        throw new LookupBusyException(name, lookup.shown(value), claim.holder(), millisSince(start));
                    }
                    pause(unseen);
                }
                // If it succeeds, the next turn finds the own claim.
                case VOID -> claims.take(key, holder, claim, token);
                case BUSY -> {
                    long waited = millisSince(start);
                    if (waited > retryPolicy.deadline().toMillis()) {
                        throw new LookupBusyException(name, lookup.shown(value), claim.holder(), waited);
                    }
                    pause(tried);
                }
            }
        }
    }

    /**
     * Releases one value of a row and claims another when this transaction commits; throws what {@link #claim} throws. Either may be null, for
     * none.
     */
    public void change(@Nullable String from, @Nullable String to, long uid, long id) {
        LookupEntry holder = new LookupEntry(uid, id);
        current(this::usable, lookup -> {
            if (to != null) {
                claim(lookup, to, holder);
            }
            if (from != null && (to == null || !lookup.value(from).equals(lookup.value(to)))) {
                release(lookup, from, holder);
            }
            return true;
        });
    }

    private static long millisSince(long start) {
        return (System.nanoTime() - start) / 1_000_000;
    }

    /**
     * Releases a value of a row when this transaction commits.
     *
     * @return false if it does not hold it
     * @throws CrossShardException if the uid is of another shard
     * @throws IllegalStateException outside of a transaction that writes
     */
    public boolean release(String value, long uid, long id) {
        return current(this::usable, lookup -> release(lookup, value, new LookupEntry(uid, id)));
    }

    private boolean release(LookupDefinition lookup, String value, LookupEntry holder) {
        ShardTransaction tx = transaction(holder.uid());
        LookupChanges.Name its = new LookupChanges.Name(lookup.number(), key(lookup, lookup.value(value), holder));
        LookupChanges.Change before = tx.lookups().get(its);
        Claims claims = new Claims(executor, lookup);
        if (before != null) {
            // What was noted may have been rolled back to a savepoint since.
            boolean isHeld = claims.hold(tx, before.claim());
            if (isHeld ? !before.holder().equals(holder) : !before.isHeld()) {
                return false;
            }
        }
        Optional<Claims.Claim> left = leave(claims, tx, its.key(), holder);
        if (left.isEmpty() && lookup.source().isPresent()) {
            // A backfill may be claiming it for the row, or about to. Once this has the row, that has, or finds the row
            // changed.
            lockRow(tx, lookup.source().get(), holder.id());
            left = leave(claims, tx, its.key(), holder);
        }
        if (left.isEmpty()) {
            return false;
        }
        LookupChanges.Change released = new LookupChanges.Change(claims, left.get(), true, false, null);
        if (before != null && before.claim().token().equals(left.get().token())) {
            released = before.with(false);
        }
        tx.lookups().put(its, released);
        return true;
    }

    /** Withdraws the row's claim in this transaction, if the row has a committed one. */
    private static Optional<Claims.Claim> leave(
            Claims claims, ShardTransaction tx, Claims.Key key, LookupEntry holder) {
        List<Claims.Claim> claimed = claims.leave(key, holder);
        Optional<Claims.Claim> left =
                claimed.stream().filter(claim -> claims.forget(tx, claim)).findFirst();
        if (left.isEmpty() && !claimed.isEmpty()) {
            claims.leave(key, holder); // The lookup may have been dropped between the two, and the record with it.
        }
        return left;
    }

    private static void lockRow(ShardTransaction tx, LookupDefinition.Source source, long id) {
        String sql = "SELECT FROM %s.%s WHERE %s OPERATOR(pg_catalog.=) ? FOR UPDATE"
                .formatted(tx.schema(), SqlText.name(source.table()), SqlText.name(source.idColumn()));
        try (PreparedStatement statement = tx.connection().prepareStatement(sql)) {
            statement.setLong(1, id);
            statement.execute();
        } catch (SQLException e) {
            throw new ShardSqlException(
                    "lock a row of " + source.table(), tx.placement().server().name(), e);
        }
    }

    private LookupDefinition usable() {
        LookupDefinition lookup = lookups.get(name, LookupDefinition.State.FILLING);
        return switch (lookup.state()) {
            case FILLING, READY -> lookup;
            case CREATING ->
                throw new ShardflakeException(
                        Kind.PRECONDITION,
                        "lookup %s is being created, and shards may lack its tables".formatted(name),
                        Advice.of("run %s again if it was interrupted", CliCommand.LOOKUP_CREATE.with(name)),
                        null);
            case DROPPING ->
                throw new ShardflakeException(
                        Kind.PRECONDITION,
                        "lookup %s is being dropped".formatted(name),
                        Advice.of("run %s again, and create it again", CliCommand.LOOKUP_DROP.with(name)),
                        null);
        };
    }

    private ShardTransaction transaction(long uid) {
        ShardTransaction tx = executor.open().current();
        if (tx == null || tx.isReadOnly()) {
            throw new IllegalStateException(
                    "values of lookup %s are claimed and released inside the transaction that writes their row, and this is %s"
                            .formatted(name, tx == null ? "outside of one" : "a read"));
        }
        tx.require(ShardKey.uid(uid));
        return tx;
    }

    private static Claims.Key key(LookupDefinition lookup, LookupDefinition.Value value, LookupEntry holder) {
        return new Claims.Key(value, lookup.unique() ? "" : holder.uid() + " " + holder.id());
    }

    /** Creates a token that begins with the time, so that the newest are next to each other in the index. */
    private static UUID newToken() {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        long time = System.currentTimeMillis() << 16 | 0x7000 | random.nextInt(1 << 12);
        return new UUID(time, 1L << 63 | random.nextLong() >>> 2);
    }

    private static void pause(int tried) {
        try {
            Thread.sleep(ThreadLocalRandom.current()
                    .nextLong(1, 2 + Math.min(1L << Math.min(tried, 6), LONGEST_PAUSE_MILLIS)));
        } catch (InterruptedException e) {
            throw new InterruptedWorkException("a value of a lookup", e);
        }
    }
}
