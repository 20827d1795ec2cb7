/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.shardflake.ShardKey;
import org.shardflake.ShardSet;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.jooq.JooqRouter;
import org.shardflake.sql.FunctionLibrary;

/** Statements that were prepared before a deployment changed the columns that they return do not fail after it. */
class OutdatedPlansTest {

    private static final String COLUMNS = "SELECT * FROM shard_0003.photo";
    /** Enough for the driver to prepare a statement on the server. */
    private static final int PREPARED = 6;

    private static final int DEPLOYMENTS = 20;
    private static final List<String> CHANGES = List.of(
            "ADD COLUMN likes int",
            "ALTER COLUMN likes TYPE bigint",
            "DROP COLUMN likes",
            "ADD COLUMN likes text",
            "DROP COLUMN likes");

    @RegisterExtension
    static final PostgresExtension postgres =
            PostgresExtension.servers(1).prepareOnce("library", FunctionLibrary::deploy);

    private static PhotoShards shards;
    private static ShardRouter router;

    @BeforeAll
    static void start() throws SQLException {
        shards = PhotoShards.create(postgres, 1, 10);
        shards.execute(0, "INSERT INTO shard_0003.photo (uid, title) VALUES (3, 'sunrise')");
        router = shards.router().map(shards.map()).poolSize(2).build();
    }

    @AfterAll
    static void close() {
        router.close();
    }

    @BeforeEach
    void oldColumns() throws SQLException {
        shards.execute(0, "ALTER TABLE shard_0003.photo DROP COLUMN IF EXISTS likes");
    }

    private enum Way {
        WRITE {
            @Override
            int columns() throws SQLException {
                return router.<Integer, SQLException>write(3, tx -> columns(tx.connection(), COLUMNS));
            }
        },
        READ {
            @Override
            int columns() throws SQLException {
                return router.<Integer, SQLException>read(3, tx -> columns(tx.connection(), COLUMNS));
            }
        },
        RETURNING {
            @Override
            int columns() throws SQLException {
                return router.<Integer, SQLException>write(
                        3,
                        tx -> columns(
                                tx.connection(),
                                "UPDATE shard_0003.photo SET title = 'sunset' WHERE uid = 3 RETURNING *"));
            }
        },
        TRANSACTION_OF_AN_ATTEMPT {
            @Override
            int columns() throws SQLException {
                return inAttempt(false, "SELECT * FROM photo");
            }
        },
        TRANSACTION_OF_AN_ATTEMPT_WITH_A_PATH {
            @Override
            int columns() throws SQLException {
                return inAttempt(false, "SELECT *, uid AS photo FROM photo") - 1;
            }
        },
        ATTEMPT_IN_AUTO_COMMIT_MODE {
            @Override
            int columns() throws SQLException {
                return inAttempt(true, "SELECT * FROM photo");
            }
        },
        ATTEMPT_IN_AUTO_COMMIT_MODE_WITH_A_PATH {
            @Override
            int columns() throws SQLException {
                return inAttempt(true, "SELECT *, uid AS photo FROM photo") - 1;
            }
        },
        CONNECTION {
            @Override
            int columns() throws SQLException {
                try (Connection connection = router.connection(ShardKey.uid(3))) {
                    return columns(connection, COLUMNS);
                }
            }
        },
        JOOQ {
            @Override
            int columns() {
                return new JooqRouter(router, "photos")
                        .read(
                                ShardKey.uid(3),
                                dsl -> Objects.requireNonNull(dsl.fetchOne(COLUMNS))
                                        .size());
            }
        },
        MANY_SHARDS {
            @Override
            int columns() {
                return router.top(
                                1,
                                RowOrder.<Integer>by("uid", found -> found),
                                ShardQuery.of(
                                                "SELECT * FROM ${shard.schema}.photo",
                                                rows -> rows.getMetaData().getColumnCount())
                                        .over(ShardSet.of(3)))
                        .get(0);
            }
        },
        SCATTER {
            @Override
            int columns() {
                try (Stream<ShardResult<Integer>> results =
                        router.scatter(Scatter.over(ShardSet.of(3)), tx -> columns(tx.connection(), COLUMNS))) {
                    return results.findFirst().orElseThrow().get();
                }
            }
        };

        abstract int columns() throws SQLException;

        static int columns(Connection connection, String sql) throws SQLException {
            try (PreparedStatement select = connection.prepareStatement(sql);
                    ResultSet rows = select.executeQuery()) {
                assertThat(rows.next()).isTrue();
                return rows.getMetaData().getColumnCount();
            }
        }

        static int inAttempt(boolean isAutoCommit, String sql) throws SQLException {
            return router.<Integer, SQLException>attempt(ShardKey.uid(3), true, attempt -> {
                try (Connection connection = attempt.connection()) {
                    connection.setAutoCommit(isAutoCommit);
                    int columns = columns(connection, sql);
                    if (!isAutoCommit) {
                        connection.commit();
                    }
                    return columns;
                }
            });
        }
    }

    @ParameterizedTest
    @EnumSource
    void noDeploymentIsNoticed(Way way) throws SQLException {
        for (int i = 0; i < DEPLOYMENTS; i++) {
            for (int prepared = 0; prepared < PREPARED; prepared++) {
                assertThat(way.columns()).isBetween(3, 4);
            }
            shards.execute(0, "ALTER TABLE shard_0003.photo " + CHANGES.get(i % CHANGES.size()));
            assertThat(way.columns()).isEqualTo(List.of(4, 4, 3, 4, 3).get(i % CHANGES.size()));
        }
    }
}
