/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.broughtover;

import javax.sql.DataSource;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.jdbc.DataSourceBuilder;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;

/** The tables that stay where they were. */
@Configuration
public class OldTables {

    @Bean(defaultCandidate = false)
    @Qualifier("old")
    DataSource oldDataSource(Environment environment) {
        return DataSourceBuilder.create()
                .url(environment.getProperty("old.url"))
                .username(environment.getProperty("old.username"))
                .password(environment.getProperty("old.password"))
                .build();
    }

    @Bean(defaultCandidate = false)
    @Qualifier("old")
    PlatformTransactionManager oldTransactionManager(@Qualifier("old") DataSource dataSource) {
        return new JdbcTransactionManager(dataSource);
    }

    @Bean(defaultCandidate = false)
    @Qualifier("old")
    JdbcClient oldJdbcClient(@Qualifier("old") DataSource dataSource) {
        return JdbcClient.create(dataSource);
    }
}
