/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import java.util.Arrays;
import java.util.stream.Collectors;
import javax.sql.DataSource;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.AbstractBeanDefinition;

/**
 * Refuses an application's {@code DataSource} that would replace the shards'. Spring Boot leaves out the shards' without a word then, and what
 * has {@link OnShard} would read and write the other database.
 */
final class OnlyDataSource {

    private OnlyDataSource() {}

    static void require(ListableBeanFactory beans) {
        if (beans.getBeanNamesForType(ShardflakeAutoConfiguration.OverShards.class, true, false).length > 0) {
            return;
        }
        String others = Arrays.stream(beans.getBeanNamesForType(DataSource.class, true, false))
                .filter(name -> isDefaultCandidate(beans, name))
                .map(name -> "bean " + name)
                .collect(Collectors.joining(", "));
        throw new ShardflakeStartException(
                "The application has a DataSource of another database, %s, so that of the shards is missing."
                        .formatted(others),
                "Declare it with @Bean(defaultCandidate = false) and @Qualifier, and its transaction manager, too."
                        + " To run the application on that database instead of shards, set shardflake.enabled=false.");
    }

    private static boolean isDefaultCandidate(ListableBeanFactory beans, String name) {
        if (beans instanceof ConfigurableListableBeanFactory factory && factory.containsBeanDefinition(name)) {
            BeanDefinition definition = factory.getBeanDefinition(name);
            return !(definition instanceof AbstractBeanDefinition it) || it.isDefaultCandidate();
        }
        return true;
    }
}
