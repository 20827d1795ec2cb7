/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.micrometer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.micrometer.common.KeyValue;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.shardflake.Server;
import org.shardflake.ShardKey;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.router.PhotoShards;
import org.shardflake.router.Photos;
import org.shardflake.router.RouterListener;
import org.shardflake.router.RunningWork;
import org.shardflake.router.ShardAttempt;
import org.shardflake.router.ShardRouter;
import org.shardflake.router.exception.CrossShardException;
import org.shardflake.sql.FunctionLibrary;

/** Shards 0 and 2 are on db1, 1 and 3 on db2. */
class ObservationListenerTest {

    @RegisterExtension
    static final PostgresExtension postgres =
            PostgresExtension.servers(2).prepareOnce("library", FunctionLibrary::deploy);

    private static PhotoShards shards;

    private final ObservationRegistry registry = ObservationRegistry.create();
    private final List<Observation.Context> ended = new ArrayList<>();

    ObservationListenerTest() {
        registry.observationConfig().observationHandler(new Recorder());
    }

    private final class Recorder implements ObservationHandler<Observation.Context> {

        @Override
        public void onStop(Observation.Context context) {
            ended.add(context);
        }

        @Override
        public boolean supportsContext(Observation.Context context) {
            return true;
        }
    }

    @BeforeAll
    static void createShards() throws SQLException {
        shards = PhotoShards.create(postgres, 2, 4);
    }

    private ShardRouter router() {
        return shards.router()
                .map(shards.map())
                .listener(new ObservationListener(registry))
                .build();
    }

    private static String keyValues(Observation.Context context) {
        return context.getName()
                + " " + text(context.getLowCardinalityKeyValues())
                + " | " + text(context.getHighCardinalityKeyValues());
    }

    private static String text(Iterable<KeyValue> values) {
        List<String> texts = new ArrayList<>();
        values.forEach(value -> texts.add(value.getKey() + "=" + value.getValue()));
        return String.join(" ", texts);
    }

    private List<String> ended() {
        return ended.stream().map(ObservationListenerTest::keyValues).toList();
    }

    @Test
    void tellsServerKindOutcomeShardAndTries() throws SQLException {
        try (ShardRouter router = router()) {
            router.write(2, tx -> Photos.insert(tx, 2, "two"));
            router.<Long, SQLException>read(1, tx -> Photos.count(tx, 1));
        }

        assertThat(ended())
                .containsExactly(
                        "shardflake.work kind=write outcome=returned server=db1 | shard=2 tries=1",
                        "shardflake.work kind=read outcome=returned server=db2 | shard=1 tries=1");
    }

    @Test
    void isAroundAllTriesOfWorkThatMeetsAFence() throws SQLException {
        shards.execute(1, "SELECT shardflake.fence_shard(3)");
        int[] runs = {0};
        try (ShardRouter router = router()) {
            router.write(3, tx -> {
                if (++runs[0] == 2) {
                    shards.execute(1, "SELECT shardflake.unfence_shard(3)");
                }
                return Photos.insert(tx, 3, "three");
            });
        }

        assertThat(runs[0]).isEqualTo(2);
        assertThat(ended()).containsExactly("shardflake.work kind=write outcome=returned server=db2 | shard=3 tries=2");
    }

    @Test
    void whatTheWorkObservesIsInside() throws SQLException {
        try (ShardRouter router = router()) {
            Observation request = Observation.start("request", registry);
            try (Observation.Scope ignored = request.openScope()) {
                router.write(2, tx -> {
                    Observation.createNotStarted("statement", registry).observe(() -> {});
                    // Joins the transaction, and is no work of its own.
                    return router.<Long, SQLException>write(2, inner -> Photos.insert(inner, 2, "two"));
                });
                assertThat(registry.getCurrentObservation()).isSameAs(request);
            }
            request.stop();
        }

        assertThat(ended)
                .extracting(Observation.Context::getName)
                .containsExactly("statement", "shardflake.work", "request");
        assertThat(parent(ended.get(0))).isSameAs(ended.get(1));
        assertThat(parent(ended.get(1))).isSameAs(ended.get(2));
    }

    private static Object parent(Observation.Context context) {
        return Objects.requireNonNull(context.getParentObservation()).getContextView();
    }

    @Test
    void tellsWhatTheWorkThrew() {
        try (ShardRouter router = router()) {
            assertThatExceptionOfType(CrossShardException.class)
                    .isThrownBy(() -> router.run(2, tx -> router.run(3, inner -> {})));
        }

        assertThat(ended()).containsExactly("shardflake.work kind=write outcome=failed server=db1 | shard=2 tries=1");
        assertThat(ended.get(0).getError()).isInstanceOf(CrossShardException.class);
        assertThat(registry.getCurrentObservation()).isNull();
    }

    @Test
    void theKindOfAnAttemptIsThatOfItsTransactions() throws SQLException {
        try (ShardRouter router = router()) {
            router.<Boolean, SQLException>attempt(ShardKey.uid(2), true, attempt -> use(attempt, true, false));
            router.<Boolean, SQLException>attempt(ShardKey.uid(2), true, attempt -> use(attempt, false, false));
            router.<Boolean, SQLException>attempt(ShardKey.uid(2), true, attempt -> use(attempt, false, true));
            router.<Boolean, SQLException>attempt(ShardKey.uid(2), true, attempt -> true);
        }

        assertThat(ended)
                .extracting(context -> Objects.requireNonNull(context.getLowCardinalityKeyValue("kind"))
                        .getValue())
                .containsExactly("read", "write", "write", "read");
    }

    private static boolean use(ShardAttempt attempt, boolean readOnly, boolean autoCommit) throws SQLException {
        try (Connection connection = attempt.connection()) {
            connection.setReadOnly(readOnly);
            connection.setAutoCommit(autoCommit);
            try (PreparedStatement count = connection.prepareStatement("SELECT count(*) FROM photo")) {
                count.executeQuery();
            }
            if (!autoCommit) {
                connection.commit();
            }
        }
        return true;
    }

    @Test
    void observersNestAndAFailingOneChangesNothing() throws SQLException {
        List<String> events = new ArrayList<>();
        try (ShardRouter router = shards.router()
                .map(shards.map())
                .listener(new Named("outer", events))
                .listener(new RouterListener() {
                    @Override
                    public @Nullable RunningWork workBegan(Server server, int shard) {
                        throw new IllegalStateException("a test");
                    }
                })
                .listener(new Named("inner", events))
                .build()) {
            router.run(2, tx -> events.add("work"));
        }

        assertThat(events).containsExactly("outer began", "inner began", "work", "inner ended", "outer ended");
    }

    private record Named(String name, List<String> events) implements RouterListener {

        @Override
        public RunningWork workBegan(Server server, int shard) {
            events.add(name + " began");
            return (last, readOnly, tries, failure) -> {
                events.add(name + " ended");
                throw new IllegalStateException("a test");
            };
        }
    }

    @Test
    void costsNothingWithoutHandlers() {
        assertThat(new ObservationListener(ObservationRegistry.NOOP)
                        .workBegan(new Server("db1", "postgresql://db1/app"), 0))
                .isNull();
    }
}
