/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example;

import java.sql.SQLException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.router.ShardRouter;
import org.shardflake.sql.FunctionLibrary;

class PhotosWithJdbcTest implements PhotoRepositoryContract {

    @RegisterExtension
    static final PostgresExtension postgres =
            PostgresExtension.servers(2).prepareOnce("library", FunctionLibrary::deploy);

    private static ShardRouter router;

    @BeforeAll
    static void start() throws SQLException {
        router = PhotoTables.create(postgres);
    }

    @AfterAll
    static void close() {
        router.close();
    }

    @BeforeEach
    void empty() throws SQLException {
        PhotoTables.empty(router);
    }

    @Override
    public ShardRouter router() {
        return router;
    }

    @Override
    public PhotoRepository photos() {
        return new PhotosWithJdbc(router);
    }
}
